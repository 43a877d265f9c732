// The lease of one attempt: its share of the account's concurrency, and its ticket in the account's health. It is released once.
import type { Why } from '../../../store/schema/logged-rows.ts';
import type { Affinity } from '../../turn/continuation.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import type { OverflowReason } from '../../turn/tiers.ts';
import type { Upstream } from '../../upstream/upstreams.ts';
import type { AccountRecord, CurrentAccount } from '../account-record.ts';
import type { AttemptTicket } from '../health/account-health.ts';
import type { AttemptResult } from '../health/attempt-result.ts';
import type { Health } from '../health/health.ts';
import type { Learning } from './strategies/strategy.ts';

export interface LeaseOptions {
  /** The account in the configuration of the turn. */
  readonly current: CurrentAccount;
  readonly upstream: Upstream;
  readonly why: Why;
  readonly ticket: AttemptTicket;
  readonly record: AccountRecord;
  /** The Pool of the turn. */
  readonly pool: string;
  readonly health: Health;
  /** The tier of the account in the turn's Pool. */
  readonly tier: number;
  /** Why the turn left the lower tiers; undefined if it did not. */
  readonly overflow: OverflowReason | undefined;
  /** Called with the account when the reply is committed. */
  readonly affinity: Pick<Affinity, 'learn'> | undefined;
  readonly onReleased: (record: AccountRecord) => void;
  /** What the Pool's strategy learns from the attempt; undefined if it learns nothing. */
  readonly learn: Learning | undefined;
  /** Unix milliseconds; called only if the strategy learns. */
  readonly now: () => number;
}

export class AccountLease {
  readonly account: AccountConfig;
  readonly provider: ProviderApi;
  /** The static bearer of the account, or the value of its credential's header. */
  readonly bearer: string | undefined;
  readonly upstream: Upstream;
  /** Why this account was chosen, and the number of other accounts for each reason (Q7). */
  readonly why: Why;
  readonly tier: number;
  readonly overflow: OverflowReason | undefined;
  readonly #options: LeaseOptions;
  readonly #takenAt: number;
  #firstEventMs: number | undefined;
  #released = false;

  constructor(options: LeaseOptions) {
    const { config, provider, bearer } = options.current;
    this.account = config;
    this.provider = provider;
    this.bearer = bearer;
    this.upstream = options.upstream;
    this.why = options.why;
    this.tier = options.tier;
    this.overflow = options.overflow;
    this.#options = options;
    this.#takenAt = options.learn ? options.now() : 0;
    const { record } = options;
    record.inFlight += 1;
    record.inFlightOf.add(options.pool);
    options.upstream.lease();
  }

  /** Whether this attempt is the probe of an account that failed (Q5). */
  get isProbe(): boolean {
    return this.#options.ticket.probes !== undefined;
  }

  /** Resolves with whether this attempt may be sent; undefined unless another node may probe the account instead. */
  get granted(): Promise<boolean> | undefined {
    return this.#options.ticket.claim?.granted;
  }

  /**
   * Records that the reply was committed: a probe has its result, and the conversation of the turn has its account, before the reply ends.
   */
  answered(): void {
    if (this.#released) return;
    const { health, ticket, affinity, learn, now } = this.#options;
    if (learn) this.#firstEventMs ??= now() - this.#takenAt;
    health.answered(ticket);
    affinity?.learn(this.account.id);
  }

  /** Whether the account's address counts as wrong (AA61); valid after the end. */
  get hasWrongApi(): boolean {
    return this.#options.ticket.record.health?.hasWrongApi === true;
  }

  /** Releases the lease. A second call does nothing. */
  end(result: AttemptResult): void {
    if (this.#released) return;
    this.#released = true;
    const { record, pool, upstream, health, ticket, onReleased, learn } = this.#options;
    record.inFlight -= 1;
    record.inFlightOf.remove(pool);
    upstream.release();
    health.end(ticket, result);
    learn?.({ result, firstEventMs: this.#firstEventMs });
    onReleased(record);
  }
}
