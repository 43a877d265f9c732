// The health of one account: a circuit breaker for the whole account, one for each model that failed, and its credential (Q5).

import type { HeldLease } from '../../nodes/exclusive-work.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { type AccountFault, accountFault } from './account-fault.ts';
import { CircuitBreaker, type ResultTime } from './circuit-breaker.ts';
import { pathOf, TURNS_PATH } from './health-path.ts';

/** `quota`: no turn passes, and the account stays routable (UA2). `available`: turns pass. */
export type HealthAvailability = 'available' | 'reauth_required' | 'cooldown' | 'probing' | 'quota';

/**
 * `completed`: the reply was complete. `neutral`: the attempt gives no evidence of the account's health: the client left, or our own checks
 * refused it.
 */
export type AttemptResult = 'completed' | 'neutral' | Failure;

/** One attempt from its beginning to its result. */
export interface AttemptTicket {
  readonly account: string;
  /** Exposed model id; a word in parentheses on routes without a model. */
  readonly model: string;
  /** Counts up. A breaker that opened after an attempt began ignores the attempt's result. */
  readonly number: number;
  /** The static bearer that the attempt carries, where there is one. */
  readonly credential: string | undefined;
  /** The breakers that this attempt probes. */
  probes: readonly CircuitBreaker[] | undefined;
  /** With several nodes: resolves with whether this attempt is the probe, and not another node's. Await it before sending anything. */
  claim: ProbeClaim | undefined;
}

/** The right to probe, which one node at a time has (Q34). */
export interface ProbeClaim {
  readonly granted: Promise<boolean>;
  /** Guards what the probe's result writes; undefined before it was granted, and where the store does not answer. */
  lease: HeldLease | undefined;
}

/** The other accounts. Failures never close the last account that could take a model's turns (Q5). */
export interface Alternatives {
  /** Whether another account could take this model's turns, in every Pool where this account is a source of the model. */
  existFor(model: string, account: string): boolean;
  /** The exposed models of an account. */
  modelsOf(account: string): Iterable<string>;
}

export interface ResultContext extends ResultTime {
  readonly alternatives: Alternatives;
}

/** Methods return whether the set of turns that pass may have changed. */
export class AccountHealth {
  readonly id: string;
  readonly breaker = new CircuitBreaker();
  /** By model, and by path (`pathOf`). */
  readonly modelBreakers = new Map<string, CircuitBreaker>();
  /** Models that the cooldowns of the account and of its paths do not apply to: when they opened, no other account could take them. */
  exemptModels: ReadonlySet<string> = new Set();
  /** The credential was refused for good. Only another credential helps (Q5). */
  reauthRequired = false;
  /** This process cannot open the stored login. It is not stored: with the right key, the next process can. */
  isSealed = false;

  constructor(id: string) {
    this.id = id;
  }

  /** Whether there is no evidence of the account's health. */
  get isInitial(): boolean {
    return !this.reauthRequired && !this.isSealed && this.breaker.isInitial && this.modelBreakers.size === 0;
  }

  get needsLogin(): boolean {
    return this.reauthRequired || this.isSealed;
  }

  get breakers(): readonly CircuitBreaker[] {
    return [this.breaker, ...this.modelBreakers.values()];
  }

  availability(model: string): HealthAvailability {
    if (this.needsLogin) return 'reauth_required';
    for (const breaker of this.#breakersFor(model)) {
      const blocked = blockedBy(breaker);
      if (blocked) return blocked;
    }
    return 'available';
  }

  /** The end of the cooldowns that keep this model's turns away; Unix milliseconds. */
  cooldownEnd(model: string): number | undefined {
    const cooling = this.#breakersFor(model).filter(({ phase }) => phase === 'cooling');
    return cooling.length > 0 ? Math.max(...cooling.map(({ cooldownEnd }) => cooldownEnd)) : undefined;
  }

  /** Begins an attempt. Where a probe is due, the attempt is the probe. */
  begin(ticket: AttemptTicket): boolean {
    const due = this.#breakersFor(ticket.model).filter(({ phase }) => phase === 'due');
    if (due.length === 0) return false;
    for (const breaker of due) breaker.startProbe();
    ticket.probes = due;
    return true;
  }

  /** The attempt's reply was committed: its breakers close. */
  answered(ticket: AttemptTicket): boolean {
    let changed = false;
    for (const breaker of this.#breakersOf(ticket)) changed = breaker.close() || changed;
    return changed;
  }

  end(ticket: AttemptTicket, result: AttemptResult, context: ResultContext): boolean {
    if (result === 'completed') return this.#recordSuccess(ticket);
    let changed = false;
    const fault = result === 'neutral' ? undefined : accountFault(result, context.now);
    if (fault && result !== 'neutral') {
      // The provider answered with an error, so the account as a whole can be reached.
      if (result.status !== undefined && fault.scope === 'model' && this.breaker.openedAfter < ticket.number)
        changed = this.breaker.close();
      changed = this.#recordFault(ticket, fault, context) || changed;
    }
    for (const probed of ticket.probes ?? []) if (probed.openedAfter < ticket.number) changed = probed.cancelProbe() || changed;
    return changed;
  }

  /** The breakers that keep turns of the model away: the account's, the model's, and that of their path. */
  #breakersFor(model: string): readonly CircuitBreaker[] {
    const isExempt = this.exemptModels.has(model);
    const whole = isExempt && !this.breaker.outOfQuota ? undefined : this.breaker;
    const path = pathOf(model);
    const ofPath = path === model || isExempt ? undefined : this.modelBreakers.get(path);
    return defined(whole, this.modelBreakers.get(model), ofPath);
  }

  /** The breakers that the attempt's result affects. */
  #breakersOf({ model, number }: AttemptTicket): readonly CircuitBreaker[] {
    const path = pathOf(model);
    const ofPath = path === model ? undefined : this.modelBreakers.get(path);
    return defined(this.breaker, this.modelBreakers.get(model), ofPath).filter(({ openedAfter }) => openedAfter < number);
  }

  #recordSuccess(ticket: AttemptTicket): boolean {
    let changed = false;
    for (const breaker of this.#breakersOf(ticket)) changed = breaker.recordSuccess() || changed;
    for (const name of [ticket.model, pathOf(ticket.model)]) if (this.modelBreakers.get(name)?.isInitial) this.modelBreakers.delete(name);
    return changed;
  }

  #recordFault({ model, number }: AttemptTicket, fault: AccountFault, context: ResultContext): boolean {
    const name = fault.scope === 'path' ? pathOf(model) : model;
    const breaker = fault.scope === 'account' ? this.breaker : (this.modelBreakers.get(name) ?? new CircuitBreaker());
    if (fault.scope !== 'account') this.modelBreakers.set(name, breaker);
    // Attempts that were running when the breaker opened belong to the same burst. Only a statement about quota still changes its end.
    if (breaker.openedAfter >= number && fault.cause !== 'quota') return false;
    const { alternatives } = context;
    return breaker.recordFailure(fault, context, () =>
      fault.scope === 'model' || (fault.scope === 'path' && name === model)
        ? alternatives.existFor(model, this.id)
        : this.#exempt(model, fault.scope === 'path' && name !== TURNS_PATH ? [] : alternatives.modelsOf(this.id), alternatives),
    );
  }

  /** Exempts the models that no other account could take; returns whether any model is left for a cooldown. */
  #exempt(model: string, others: Iterable<string>, alternatives: Alternatives): boolean {
    const models = new Set([model, ...others]);
    const exempt = [...models].filter((one) => !alternatives.existFor(one, this.id));
    this.exemptModels = new Set(exempt);
    return exempt.length < models.size;
  }
}

const defined = (...breakers: readonly (CircuitBreaker | undefined)[]): readonly CircuitBreaker[] =>
  breakers.filter((breaker) => breaker !== undefined);

const blockedBy = (breaker: CircuitBreaker | undefined): HealthAvailability | undefined => {
  if (!breaker?.blocks) return undefined;
  if (breaker.outOfQuota) return 'quota';
  return breaker.phase === 'probing' ? 'probing' : 'cooldown';
};
