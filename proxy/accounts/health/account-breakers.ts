// The circuit breakers of one account: of the whole account, of its models and of its paths. A turn depends on those that its scope names,
// and a cooldown never closes the last account that could take a scope (Q5).
import type { CompactWay } from '../compact-paths.ts';
import { COMPACT_PATH, isModelless, modelOf, pathOf, scopeAt, TURNS_PATH } from '../scope.ts';
import type { AccountFault } from './account-fault.ts';
import type { JudgedAttempt } from './attempt-result.ts';
import { CircuitBreaker, type ResultTime } from './circuit-breaker.ts';

/** The other accounts. */
export interface Alternatives {
  /** Whether another account could take turns of this scope in every Pool in which this account is a source of the model. */
  existFor(scope: string, account: string): boolean;
  /** The exposed models of an account. */
  modelsOf(account: string): Iterable<string>;
}

export interface ResultContext extends ResultTime {
  readonly alternatives: Alternatives;
}

/** The scope of an attempt, and its serial number. */
type Attempted = Pick<JudgedAttempt, 'scope' | 'number'>;

/** The cooldown that a fault would open. */
interface Opening {
  /** The path that the cooldown would affect; for the whole account, the path of turns. */
  readonly path: string;
  readonly breaker: CircuitBreaker;
  readonly alternatives: Alternatives;
}

/** The methods that record a result return whether the set of turns that may pass could have changed. */
export class AccountBreakers {
  /** The breaker of the whole account. */
  readonly whole = new CircuitBreaker();
  /** Breakers of models, of models that host requests of a kind, and of paths, each by its scope. */
  readonly scoped = new Map<string, CircuitBreaker>();
  /**
   * Scopes that are exempt from the cooldowns of the account and its paths, because no other account could take them when a cooldown
   * opened.
   */
  exempt: ReadonlySet<string> = new Set();
  readonly #account: string;
  readonly #compacts: () => CompactWay;

  /** @param compacts returns how the account compacts now: a compaction that ends in a trigger goes to the path of turns */
  constructor(account: string, compacts: () => CompactWay) {
    this.#account = account;
    this.#compacts = compacts;
  }

  get isInitial(): boolean {
    return this.whole.isInitial && this.scoped.size === 0;
  }

  get all(): readonly CircuitBreaker[] {
    return [this.whole, ...this.scoped.values()];
  }

  /** Whether a cooldown is open that scopes may be exempt from: that of the account, or of one of its paths. */
  get exempts(): boolean {
    return this.#exempting.some(({ phase }) => phase !== 'closed');
  }

  get #exempting(): readonly CircuitBreaker[] {
    return [this.whole, ...[...this.scoped].flatMap(([name, breaker]) => (isModelless(name) ? breaker : []))];
  }

  /** The names in `scoped` that a turn of the scope depends on: those of its model and its path. */
  namesOf(scope: string): readonly string[] {
    const name = this.#ownName(scope);
    const path = this.#pathOf(scope);
    return path === name ? [name] : [name, path];
  }

  /** The breakers that may block turns of the scope: those of the account, the model and the path. */
  blocking(scope: string): readonly CircuitBreaker[] {
    const [name, path] = this.namesOf(scope);
    const whole = this.#isExempt(scope) && !this.whole.outOfQuota ? undefined : this.whole;
    const ofPath = path === undefined || this.#isExempt(scope, path) ? undefined : this.scoped.get(path);
    return defined(whole, name === undefined ? undefined : this.scoped.get(name), ofPath);
  }

  /** Records that the attempt's reply was committed, which closes its breakers. */
  answered(attempt: Attempted): boolean {
    let changed = false;
    for (const breaker of this.#affectedBy(attempt)) changed = breaker.close() || changed;
    return changed;
  }

  recordSuccess(attempt: Attempted): boolean {
    let changed = false;
    for (const breaker of this.#affectedBy(attempt)) changed = breaker.recordSuccess() || changed;
    for (const name of this.namesOf(attempt.scope)) if (this.scoped.get(name)?.isInitial) this.scoped.delete(name);
    return changed;
  }

  recordFault({ scope, number }: Attempted, fault: AccountFault, context: ResultContext): boolean {
    const path = this.#pathOf(scope);
    const name = fault.scope === 'path' ? path : this.#ownName(scope);
    const breaker = fault.scope === 'account' ? this.whole : (this.scoped.get(name) ?? new CircuitBreaker());
    if (fault.scope !== 'account') this.scoped.set(name, breaker);
    // Attempts that were running when the breaker opened belong to the same burst. Only a statement about quota still changes the end of
    // the cooldown.
    if (breaker.openedAfter >= number && fault.cause !== 'quota') return false;
    const { alternatives } = context;
    return breaker.recordFailure(fault, context, () => {
      if (fault.scope === 'model' || (fault.scope === 'path' && name === scope)) return alternatives.existFor(scope, this.#account);
      return this.#exemptLastSources(scope, { path: fault.scope === 'path' ? path : TURNS_PATH, breaker, alternatives });
    });
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
    return this.exempt.has(scope) || (path === TURNS_PATH && this.exempt.has(modelOf(scope)));
  }

  /** The breakers that the attempt's result affects. */
  #affectedBy({ scope, number }: Attempted): readonly CircuitBreaker[] {
    const named = this.namesOf(scope).map((name) => this.scoped.get(name));
    return defined(this.whole, ...named).filter(({ openedAfter }) => openedAfter < number);
  }

  /** Exempts those scopes at the path that no other account could take. @returns whether any scope is left for a cooldown */
  #exemptLastSources(scope: string, { path, breaker, alternatives }: Opening): boolean {
    const others = [...alternatives.modelsOf(this.#account)].map((model) => scopeAt(path, model));
    const scopes = new Set([scope, ...others]);
    const exempt = [...scopes].filter((one) => !alternatives.existFor(one, this.#account));
    const kept = this.#exempting.some((other) => other !== breaker && other.phase !== 'closed') ? this.exempt : [];
    this.exempt = new Set([...kept, ...exempt]);
    return exempt.length < scopes.size;
  }
}

const defined = (...breakers: readonly (CircuitBreaker | undefined)[]): readonly CircuitBreaker[] =>
  breakers.filter((breaker) => breaker !== undefined);
