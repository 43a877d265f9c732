// What is known of one account that is not entirely well: as a whole, and for single models.

import type { AttemptTicket, Result } from './attempt-ticket.ts';
import { type Blame, blameOf } from './blame.ts';
import { Condition } from './condition.ts';

/** `quota`: routable all the same (UA2). The others but `open` keep every turn away. */
export type HealthAvailability = 'open' | 'reauth_required' | 'cooldown' | 'probing' | 'quota';

/** The other accounts: a burst of failures never closes the last one that could take a model's turns (Q5). */
export interface Others {
  /** Whether some other account could take this model's turns, wherever this account does. */
  couldTake(model: string, insteadOf: string): boolean;
  /** The exposed models of an account. */
  modelsOf(account: string): Iterable<string>;
}

/** The moment at which something is judged. */
export interface Moment {
  readonly now: number;
  /** How many visits have begun by now. */
  readonly visits: number;
  readonly others: Others;
}

/** Methods answer whether turns may pass differently now. */
export class AccountHealth {
  readonly id: string;
  readonly whole = new Condition();
  readonly models = new Map<string, Condition>();
  /** Models that the whole account's cooldown does not hold for: when it opened, nobody else could take them. */
  exemptModels: ReadonlySet<string> = new Set();
  /** The credential was refused for good: nothing but another one helps (Q5). */
  reauth = false;

  constructor(id: string) {
    this.id = id;
  }

  get sound(): boolean {
    return !this.reauth && this.whole.sound && this.models.size === 0;
  }

  /** The conditions that only wait for time to pass. */
  get cooling(): readonly Condition[] {
    return [this.whole, ...this.models.values()].filter(({ phase }) => phase === 'cooling');
  }

  standing(model: string): HealthAvailability {
    if (this.reauth) return 'reauth_required';
    return availabilityOf(this.#wholeFor(model)) ?? availabilityOf(this.models.get(model)) ?? 'open';
  }

  /** When the cooldowns that keep this model's turns away are over; Unix milliseconds. */
  until(model: string): number | undefined {
    const ends = both(this.#wholeFor(model), this.models.get(model)).flatMap(({ phase, until }) => (phase === 'cooling' ? [until] : []));
    return ends.length > 0 ? Math.max(...ends) : undefined;
  }

  /** Where a probe is due, this visit is it. */
  enter(visit: AttemptTicket): boolean {
    const due = both(this.#wholeFor(visit.model), this.models.get(visit.model)).filter(({ phase }) => phase === 'due');
    if (due.length === 0) return false;
    for (const condition of due) condition.probe();
    visit.probes = due;
    return true;
  }

  /** The visit's reply was committed: whatever had opened before it is over. */
  answered(visit: AttemptTicket): boolean {
    let moved = false;
    for (const condition of this.#judgedBy(visit)) moved = condition.revive() || moved;
    return moved;
  }

  left(visit: AttemptTicket, result: Result, moment: Moment): boolean {
    if (result === 'completed') return this.#forgive(visit);
    const blame = result === 'neutral' ? undefined : blameOf(result, moment.now);
    let moved = false;
    if (blame && result !== 'neutral') {
      // Something answered there: it is not the account as a whole that is down.
      if (result.status !== undefined && blame.scope === 'model' && this.whole.openedAt < visit.number) moved = this.whole.revive();
      moved = this.#fail(visit, blame, moment) || moved;
    }
    for (const condition of visit.probes ?? []) if (condition.openedAt < visit.number) moved = condition.free() || moved;
    return moved;
  }

  #wholeFor(model: string): Condition | undefined {
    return this.exemptModels.has(model) && !this.whole.spent ? undefined : this.whole;
  }

  #judgedBy(visit: AttemptTicket): readonly Condition[] {
    return both(this.whole, this.models.get(visit.model)).filter(({ openedAt }) => openedAt < visit.number);
  }

  #forgive(visit: AttemptTicket): boolean {
    let moved = false;
    for (const condition of this.#judgedBy(visit)) moved = condition.forgive() || moved;
    if (this.models.get(visit.model)?.sound) this.models.delete(visit.model);
    return moved;
  }

  #fail(visit: AttemptTicket, blame: Blame, { now, visits, others }: Moment): boolean {
    const condition = blame.scope === 'account' ? this.whole : (this.models.get(visit.model) ?? new Condition());
    if (blame.scope === 'model') this.models.set(visit.model, condition);
    // What was under way when it opened is the same burst; only a statement about quota may still say how long.
    if (condition.openedAt >= visit.number && blame.cause !== 'quota') return false;
    return condition.fail(blame, now, visits, () =>
      blame.scope === 'model' ? others.couldTake(visit.model, this.id) : this.#spare(visit, others),
    );
  }

  /** Whether there is any model that the others could take; the rest is exemptModels. */
  #spare(visit: AttemptTicket, others: Others): boolean {
    const models = new Set([visit.model, ...others.modelsOf(this.id)]);
    const exemptModels = [...models].filter((model) => !others.couldTake(model, this.id));
    this.exemptModels = new Set(exemptModels);
    return exemptModels.length < models.size;
  }
}

const both = (whole: Condition | undefined, model: Condition | undefined): Condition[] =>
  [whole, model].filter((condition) => condition !== undefined);

const availabilityOf = (condition: Condition | undefined): HealthAvailability | undefined => {
  if (!condition?.blocks) return undefined;
  if (condition.spent) return 'quota';
  return condition.phase === 'probing' ? 'probing' : 'cooldown';
};
