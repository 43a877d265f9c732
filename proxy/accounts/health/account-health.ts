// The health of one account: its circuit breakers, its credential, and whether its address is that of its API (Q5).
import type { Failure } from '../../turn/errors/failure.ts';
import type { CompactWay } from '../compact-paths.ts';
import { AccountBreakers, type ResultContext } from './account-breakers.ts';
import { type AccountFault, accountFault, WRONG_API, WRONG_SCOPES } from './account-fault.ts';
import type { AttemptResult, JudgedAttempt, ProbeClaim } from './attempt-result.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';

/** `quota`: no turn passes, and the account stays routable (UA2). `available`: turns pass. */
export type HealthAvailability = 'available' | 'reauth_required' | 'cooldown' | 'probing' | 'quota';

/** The part of an account's record that health keeps. */
export interface HealthRecord {
  readonly id: string;
  /** Undefined while the account is in the initial state. */
  health: AccountHealth | undefined;
}

/** One attempt from its beginning to its result. */
export interface AttemptTicket extends JudgedAttempt {
  readonly record: HealthRecord;
  /** The static bearer that the attempt carries, if there is one. */
  readonly credential: string | undefined;
  /**
   * Present if several nodes may probe. It resolves with whether this attempt is the probe, and has to be awaited before anything is sent.
   */
  claim: ProbeClaim | undefined;
}

/** The methods return whether the set of turns that may pass could have changed. */
export class AccountHealth {
  readonly id: string;
  readonly record: HealthRecord;
  readonly breakers: AccountBreakers;
  /** Whether the credential was refused permanently. Only another credential helps (Q5). */
  reauthRequired = false;
  /** Whether this process has no login that it can use. Not stored, because another process may have one. */
  lacksLogin = false;
  /** The last consecutive scopes that the account did not have. Each process finds them by itself. */
  readonly #wrongScopes = new Set<string>();

  /** @param compacts returns how the account compacts now */
  constructor(record: HealthRecord, compacts: () => CompactWay) {
    this.id = record.id;
    this.record = record;
    this.breakers = new AccountBreakers(record.id, compacts);
  }

  /** Whether there is no evidence of the account's health. */
  get isInitial(): boolean {
    return !this.needsLogin && this.breakers.isInitial;
  }

  get needsLogin(): boolean {
    return this.reauthRequired || this.lacksLogin;
  }

  /** Whether the account is in a cooldown because its address is not that of its API (AA61). */
  get hasWrongApi(): boolean {
    const { phase, cause } = this.breakers.whole;
    return phase === 'cooling' && cause === 'wrong_api';
  }

  availability(scope: string): HealthAvailability {
    if (this.needsLogin) return 'reauth_required';
    for (const breaker of this.breakers.blocking(scope)) {
      const blocked = blockedBy(breaker);
      if (blocked) return blocked;
    }
    return 'available';
  }

  /** The end of the cooldowns that block turns of this scope; Unix milliseconds. */
  cooldownEnd(scope: string): number | undefined {
    const cooling = this.breakers.blocking(scope).filter(({ phase }) => phase === 'cooling');
    return cooling.length > 0 ? Math.max(...cooling.map(({ cooldownEnd }) => cooldownEnd)) : undefined;
  }

  /** The latest of these ends that the account stated; Unix milliseconds. */
  statedEnd(scope: string): number | undefined {
    const ends = this.breakers.blocking(scope).flatMap(({ phase, statedEnd }) => (phase === 'cooling' ? (statedEnd ?? []) : []));
    return ends.length > 0 ? Math.max(...ends) : undefined;
  }

  /** Begins an attempt. If a probe is due, the attempt is the probe. */
  begin(attempt: JudgedAttempt): boolean {
    const due = this.breakers.blocking(attempt.scope).filter(({ phase }) => phase === 'due');
    if (due.length === 0) return false;
    for (const breaker of due) breaker.startProbe();
    attempt.probes = due;
    return true;
  }

  /** Records that the attempt's reply was committed. */
  answered(attempt: JudgedAttempt): boolean {
    return this.breakers.answered(attempt);
  }

  end(attempt: JudgedAttempt, result: AttemptResult, context: ResultContext): boolean {
    const { breakers } = this;
    if (result !== 'neutral' && this.#isWrongApi(attempt, result)) return breakers.recordFault(attempt, WRONG_API, context);
    if (result === 'completed') return breakers.recordSuccess(attempt);
    let changed = false;
    const fault = result === 'neutral' ? undefined : accountFault(result, context.now);
    if (fault && result !== 'neutral') {
      // The provider answered with an error, so the account as a whole can be reached.
      if (result.status !== undefined && fault.scope === 'model' && breakers.whole.openedAfter < attempt.number)
        changed = breakers.whole.close();
      changed = breakers.recordFault(attempt, fault, context) || changed;
    }
    for (const probed of attempt.probes ?? []) if (probed.openedAfter < attempt.number) changed = probed.cancelProbe() || changed;
    return changed;
  }

  /** Blocks turns of the scope for a time that the account stated. This is no failure, and needs no probe. */
  pause(scope: string, ms: number, context: ResultContext): boolean {
    const fault: AccountFault = { cause: 'rate', scope: 'model', threshold: 1, statedMs: ms };
    return this.breakers.recordFault({ scope, number: Number.POSITIVE_INFINITY }, fault, context);
  }

  /** Whether the account has now refused the third model or path in a row as unknown. */
  #isWrongApi({ scope }: JudgedAttempt, result: 'completed' | Failure): boolean {
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
}

const blockedBy = (breaker: CircuitBreaker): HealthAvailability | undefined => {
  if (!breaker.blocks) return undefined;
  if (breaker.outOfQuota) return 'quota';
  return breaker.phase === 'probing' ? 'probing' : 'cooldown';
};
