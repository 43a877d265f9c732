// The health of one account: a circuit breaker for the whole account, one for each model that failed, and its credential (Q5).
import type { HeldLease } from '../../nodes/exclusive-work.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import type { CompactWay } from '../compact-paths.ts';
import { COMPACT_PATH, isModelless, modelOf, pathOf, scopeAt, TURNS_PATH } from '../scope.ts';
import { type AccountFault, accountFault, WRONG_API, WRONG_SCOPES } from './account-fault.ts';
import { CircuitBreaker, type ResultTime } from './circuit-breaker.ts';

/** `quota`: no turn passes, and the account stays routable (UA2). `available`: turns pass. */
export type HealthAvailability = 'available' | 'reauth_required' | 'cooldown' | 'probing' | 'quota';

/**
 * `completed`: the reply was complete. `neutral`: the attempt says nothing about the account's health, because the client left or the
 * gateway's own checks refused it.
 */
export type AttemptResult = 'completed' | 'neutral' | Failure;

/** The part of an account's record that health keeps. */
export interface HealthRecord {
  readonly id: string;
  /** Undefined while the account is in the initial state. */
  health: AccountHealth | undefined;
}

/** One attempt from its beginning to its result. */
export interface AttemptTicket {
  readonly record: HealthRecord;
  /** The scope of the attempt's turn (`scopeOf`). */
  readonly scope: string;
  /** A serial number. A breaker that opened after an attempt began ignores the attempt's result. */
  readonly number: number;
  /** The static bearer that the attempt carries, if there is one. */
  readonly credential: string | undefined;
  /** The breakers that this attempt probes. */
  probes: readonly CircuitBreaker[] | undefined;
  /**
   * Present if several nodes may probe. It resolves with whether this attempt is the probe, and has to be awaited before anything is sent.
   */
  claim: ProbeClaim | undefined;
}

/** The right to probe. One node has it at a time (Q34). */
export interface ProbeClaim {
  readonly granted: Promise<boolean>;
  /** Guards the write of the probe's result. Undefined until the right is granted, and if the store does not answer. */
  lease: HeldLease | undefined;
}

/** The other accounts. Failures never close the last account that could take a model's turns (Q5). */
export interface Alternatives {
  /** Whether another account could take turns of this scope in every Pool in which this account is a source of the model. */
  existFor(scope: string, account: string): boolean;
  /** The exposed models of an account. */
  modelsOf(account: string): Iterable<string>;
}

export interface ResultContext extends ResultTime {
  readonly alternatives: Alternatives;
}

/** The cooldown that a fault would open. */
interface Opening {
  /** The path that the cooldown would affect; for the whole account, the path of turns. */
  readonly path: string;
  readonly breaker: CircuitBreaker;
  readonly alternatives: Alternatives;
}

/** The methods return whether the set of turns that may pass could have changed. */
export class AccountHealth {
  readonly id: string;
  readonly record: HealthRecord;
  readonly breaker = new CircuitBreaker();
  /** Breakers of models, of models that host requests of a kind, and of paths, each by its scope. */
  readonly modelBreakers = new Map<string, CircuitBreaker>();
  /**
   * Scopes that are exempt from the cooldowns of the account and its paths, because no other account could take them when a cooldown
   * opened.
   */
  exemptModels: ReadonlySet<string> = new Set();
  /** Whether the credential was refused permanently. Only another credential helps (Q5). */
  reauthRequired = false;
  /** Whether this process has no login that it can use. Not stored, because another process may have one. */
  lacksLogin = false;
  readonly #compacts: () => CompactWay;
  /** The last consecutive scopes that the account did not have. Each process finds them by itself. */
  readonly #wrongScopes = new Set<string>();

  /** @param compacts returns how the account compacts now: a compaction that ends in a trigger goes to the path of turns */
  constructor(record: HealthRecord, compacts: () => CompactWay) {
    this.id = record.id;
    this.record = record;
    this.#compacts = compacts;
  }

  /** Whether there is no evidence of the account's health. */
  get isInitial(): boolean {
    return !this.reauthRequired && !this.lacksLogin && this.breaker.isInitial && this.modelBreakers.size === 0;
  }

  get needsLogin(): boolean {
    return this.reauthRequired || this.lacksLogin;
  }

  /** Whether the account is in a cooldown because its address is not that of its API (AA61). */
  get hasWrongApi(): boolean {
    return this.breaker.phase === 'cooling' && this.breaker.cause === 'wrong_api';
  }

  get breakers(): readonly CircuitBreaker[] {
    return [this.breaker, ...this.modelBreakers.values()];
  }

  /** The breakers that scopes may be exempt from: that of the account, and those of its paths. */
  get exempting(): readonly CircuitBreaker[] {
    return [this.breaker, ...[...this.modelBreakers].flatMap(([name, breaker]) => (isModelless(name) ? breaker : []))];
  }

  availability(scope: string): HealthAvailability {
    if (this.needsLogin) return 'reauth_required';
    for (const breaker of this.#breakersFor(scope)) {
      const blocked = blockedBy(breaker);
      if (blocked) return blocked;
    }
    return 'available';
  }

  /** The end of the cooldowns that block turns of this scope; Unix milliseconds. */
  cooldownEnd(scope: string): number | undefined {
    const cooling = this.#breakersFor(scope).filter(({ phase }) => phase === 'cooling');
    return cooling.length > 0 ? Math.max(...cooling.map(({ cooldownEnd }) => cooldownEnd)) : undefined;
  }

  /** The names in `modelBreakers` that a turn of the scope depends on: those of its model and its path. */
  namesOf(scope: string): readonly string[] {
    const name = this.#ownName(scope);
    const path = this.#pathOf(scope);
    return path === name ? [name] : [name, path];
  }

  /** Begins an attempt. If a probe is due, the attempt is the probe. */
  begin(ticket: AttemptTicket): boolean {
    const due = this.#breakersFor(ticket.scope).filter(({ phase }) => phase === 'due');
    if (due.length === 0) return false;
    for (const breaker of due) breaker.startProbe();
    ticket.probes = due;
    return true;
  }

  /** Records that the attempt's reply was committed, which closes its breakers. */
  answered(ticket: AttemptTicket): boolean {
    let changed = false;
    for (const breaker of this.#breakersOf(ticket)) changed = breaker.close() || changed;
    return changed;
  }

  end(ticket: AttemptTicket, result: AttemptResult, context: ResultContext): boolean {
    if (result !== 'neutral' && this.#isWrongApi(ticket, result)) return this.#recordFault(ticket, WRONG_API, context);
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

  /** Blocks turns of the scope for a time that the account stated. This is no failure, and needs no probe. */
  pause(scope: string, ms: number, context: ResultContext): boolean {
    const fault: AccountFault = { cause: 'rate', scope: 'model', threshold: 1, statedMs: ms };
    return this.#recordFault({ scope, number: Number.POSITIVE_INFINITY }, fault, context);
  }

  /** Whether the account has now refused the third model or path in a row as unknown. */
  #isWrongApi({ scope }: AttemptTicket, result: 'completed' | Failure): boolean {
    const wrong = this.#wrongScopes;
    if (result === 'completed' || result.sign !== 'wrong_api') {
      if (wrong.size > 0) wrong.clear();
      return false;
    }
    wrong.add(scope);
    if (wrong.size < WRONG_SCOPES) return false;
    wrong.clear();
    return true;
  }

  /** The breaker's name for a scope. A compaction shares the breaker of its model, because the models of both paths are the same. */
  #ownName(scope: string): string {
    return pathOf(scope) === COMPACT_PATH ? modelOf(scope) : scope;
  }

  #pathOf(scope: string): string {
    const path = pathOf(scope);
    return path === COMPACT_PATH && this.#compacts() === 'trigger' ? TURNS_PATH : path;
  }

  /** Whether the scope is exempt from the cooldown of the path; without a path, from that of the account. */
  #isExempt(scope: string, path = TURNS_PATH): boolean {
    return this.exemptModels.has(scope) || (path === TURNS_PATH && this.exemptModels.has(modelOf(scope)));
  }

  /** The breakers that block turns of the scope: those of the account, the model and the path. */
  #breakersFor(scope: string): readonly CircuitBreaker[] {
    const [name, path] = this.namesOf(scope);
    const whole = this.#isExempt(scope) && !this.breaker.outOfQuota ? undefined : this.breaker;
    const ofPath = path === undefined || this.#isExempt(scope, path) ? undefined : this.modelBreakers.get(path);
    return defined(whole, name === undefined ? undefined : this.modelBreakers.get(name), ofPath);
  }

  /** The breakers that the attempt's result affects. */
  #breakersOf({ scope, number }: AttemptTicket): readonly CircuitBreaker[] {
    const named = this.namesOf(scope).map((name) => this.modelBreakers.get(name));
    return defined(this.breaker, ...named).filter(({ openedAfter }) => openedAfter < number);
  }

  #recordSuccess(ticket: AttemptTicket): boolean {
    let changed = false;
    for (const breaker of this.#breakersOf(ticket)) changed = breaker.recordSuccess() || changed;
    for (const name of this.namesOf(ticket.scope)) if (this.modelBreakers.get(name)?.isInitial) this.modelBreakers.delete(name);
    return changed;
  }

  #recordFault({ scope, number }: Pick<AttemptTicket, 'scope' | 'number'>, fault: AccountFault, context: ResultContext): boolean {
    const path = this.#pathOf(scope);
    const name = fault.scope === 'path' ? path : this.#ownName(scope);
    const breaker = fault.scope === 'account' ? this.breaker : (this.modelBreakers.get(name) ?? new CircuitBreaker());
    if (fault.scope !== 'account') this.modelBreakers.set(name, breaker);
    // Attempts that were running when the breaker opened belong to the same burst. Only a statement about quota still changes the end of
    // the cooldown.
    if (breaker.openedAfter >= number && fault.cause !== 'quota') return false;
    const { alternatives } = context;
    return breaker.recordFailure(fault, context, () => {
      if (fault.scope === 'model' || (fault.scope === 'path' && name === scope)) return alternatives.existFor(scope, this.id);
      return this.#exempt(scope, { path: fault.scope === 'path' ? path : TURNS_PATH, breaker, alternatives });
    });
  }

  /** Exempts those scopes at the path that no other account could take. @returns whether any scope is left for a cooldown */
  #exempt(scope: string, { path, breaker, alternatives }: Opening): boolean {
    const others = [...alternatives.modelsOf(this.id)].map((model) => scopeAt(path, model));
    const scopes = new Set([scope, ...others]);
    const exempt = [...scopes].filter((one) => !alternatives.existFor(one, this.id));
    const kept = this.exempting.some((other) => other !== breaker && other.phase !== 'closed') ? this.exemptModels : [];
    this.exemptModels = new Set([...kept, ...exempt]);
    return exempt.length < scopes.size;
  }
}

const defined = (...breakers: readonly (CircuitBreaker | undefined)[]): readonly CircuitBreaker[] =>
  breakers.filter((breaker) => breaker !== undefined);

const blockedBy = (breaker: CircuitBreaker | undefined): HealthAvailability | undefined => {
  if (!breaker?.blocks) return undefined;
  if (breaker.outOfQuota) return 'quota';
  return breaker.phase === 'probing' ? 'probing' : 'cooldown';
};
