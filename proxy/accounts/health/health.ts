// The health of all accounts: cooldowns, probes and refused credentials, in memory over the rows of the store (Q5).
import type { Clock } from '../../base/time/clock.ts';
import type { RoutabilityOfAccounts } from '../../models/pool-model.ts';
import { type FailureCause, needsLogin } from '../../turn/errors/failure.ts';
import type { AccountHealth, Alternatives, AttemptResult, AttemptTicket, HealthAvailability } from './account-health.ts';
import type { ResultTime } from './circuit-breaker.ts';
import { FirstEnd } from './first-end.ts';
import { HealthListeners, type HealthStatus, healthStatus } from './health-status.ts';
import { KnownAccounts, type KnownOptions } from './known-accounts.ts';
import type { ProbeClaims } from './probe-claims.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

export interface HealthOptions extends KnownOptions {
  readonly clock: Clock;
  /** The refused credentials; they are loaded before `start`. */
  readonly credentials: RefusedCredentials;
  readonly alternatives: Alternatives;
  /** Present if other nodes may probe too. */
  readonly claims?: ProbeClaims;
}

export interface HealthConfig {
  readonly accounts: readonly { readonly id: string }[];
  /** The static bearer of each account, by its id. */
  readonly bearers: ReadonlyMap<string, string>;
}

/** The last failure. It is only shown, and no decision depends on it. */
export interface LastFailure {
  readonly cause: FailureCause;
  /** Unix milliseconds. */
  readonly at: number;
}

export class Health implements RoutabilityOfAccounts {
  readonly #options: HealthOptions;
  readonly #accounts: KnownAccounts;
  readonly #listeners = new HealthListeners();
  readonly #lastFailures = new Map<string, LastFailure>();
  #version = 0;
  #attempts = 0;
  readonly #firstEnd: FirstEnd;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#accounts = new KnownAccounts(options);
    this.#firstEnd = new FirstEnd(options.clock, () => this.#endPhases());
    options.states.onRefresh((accounts) => this.refresh(accounts));
  }

  get version(): number {
    this.endElapsedCooldowns();
    return this.#version;
  }

  /**
   * The part of UA1 that changes while the gateway runs. An exhausted quota does not count (UA2). A running probe does not count either:
   * after its cooldown an account is a source of its models again, although no other turn goes there before the probe ends.
   */
  routable(account: string, model: string): boolean {
    const availability = this.availability(account, model);
    return availability !== 'reauth_required' && availability !== 'cooldown';
  }

  /** @param scope a result of `scopeOf` */
  availability(account: string, scope: string): HealthAvailability {
    this.endElapsedCooldowns();
    return this.#accounts.find(account)?.availability(scope) ?? 'available';
  }

  /** Whether the account is in a cooldown because its address is not that of its API (AA61). */
  hasWrongApi(account: string): boolean {
    const breaker = this.#accounts.find(account)?.breaker;
    return breaker?.phase === 'cooling' && breaker.cause === 'wrong_api';
  }

  /** The end of the cooldowns that block turns of this scope; Unix milliseconds. */
  cooldownEnd(account: string, scope: string): number | undefined {
    return this.#accounts.find(account)?.cooldownEnd(scope);
  }

  /** Restores what an earlier process stored. */
  start(config: HealthConfig): void {
    this.configure(config);
  }

  /** Takes over the state of these accounts that another process stored. */
  refresh(ids: Iterable<string>): void {
    const { credentials } = this.#options;
    for (const id of ids) {
      // With several nodes another node may have accounts that this one does not have.
      if (!this.#accounts.configured.has(id)) continue;
      const { account, changed, isNewer } = this.#accounts.adopt(id, this.#time());
      // The other process has another bearer, and its refusal applies only to that one.
      if (account.reauthRequired && credentials.isReplaced(id)) account.reauthRequired = false;
      if (isNewer) this.#accounts.store(account);
      if (changed) this.#changed(account);
    }
  }

  /** Drops removed accounts, and the refusals of replaced credentials. */
  configure({ accounts, bearers }: HealthConfig): void {
    const { credentials } = this.#options;
    credentials.configure(bearers);
    const added = this.#accounts.configure(accounts.map(({ id }) => id));
    for (const id of added) this.#accounts.adopt(id, this.#time());
    for (const { id, reauthRequired, lacksLogin } of this.#accounts.all()) {
      if (lacksLogin ? bearers.has(id) : reauthRequired && credentials.isReplaced(id)) this.reset(id);
    }
    for (const id of this.#lastFailures.keys()) if (!this.#accounts.configured.has(id)) this.#lastFailures.delete(id);
    this.#version += 1;
    this.#setTimer();
  }

  /**
   * Begins an attempt; `end` must follow.
   * @param credential the static bearer that the attempt carries
   */
  begin(account: string, scope: string, credential?: string): AttemptTicket {
    this.endElapsedCooldowns();
    this.#attempts += 1;
    const ticket: AttemptTicket = { account, scope, number: this.#attempts, credential, probes: undefined, claim: undefined };
    const known = this.#accounts.find(account);
    if (known?.begin(ticket)) this.#beginProbe(known, ticket);
    return ticket;
  }

  /** Records that the attempt's reply was committed. `end` still follows. */
  answered(ticket: AttemptTicket): void {
    const account = this.#accounts.find(ticket.account);
    if (account && !isLost(ticket)) this.#save(account, account.answered(ticket), ticket);
  }

  end(ticket: AttemptTicket, stated: AttemptResult): void {
    // Another node probes by now, so its result counts.
    const result = isLost(ticket) ? 'neutral' : stated;
    const failed = typeof result === 'object';
    if (failed && result.cause !== 'request')
      this.#lastFailures.set(ticket.account, { cause: result.cause, at: this.#options.clock.now() });
    const account = failed ? this.#accounts.open(ticket.account) : this.#accounts.find(ticket.account);
    if (account) {
      this.#save(
        account,
        failed && needsLogin(result) ? this.#refuseCredential(account, ticket) : this.#endAttempt(account, ticket, result),
        ticket,
      );
    }
    if (ticket.claim) void this.#options.claims?.end(ticket.account, ticket.claim, () => this.refresh([ticket.account]));
  }

  /** Blocks turns of a scope at the account for the time that the account stated, if another account can take them (AA39). */
  pause(id: string, scope: string, ms: number): void {
    if (!this.#accounts.configured.has(id)) return;
    const account = this.#accounts.open(id);
    this.#save(account, account.pause(scope, ms, { ...this.#time(), alternatives: this.#options.alternatives }));
  }

  /** Clears the account's state, because an operator requested it or the account has another credential. */
  reset(account: string): void {
    if (!this.#accounts.forget(account)) return;
    const initial = this.#accounts.of(account);
    this.#accounts.store(initial);
    this.#notify(initial);
  }

  /** Records that this process has no login of the account that it can use. The account gets no turns here until it has one. */
  loginMissing(id: string): void {
    const account = this.#accounts.open(id);
    if (account.needsLogin) return;
    account.lacksLogin = true;
    this.#listeners.reauthRequired(id);
    this.#changed(account);
  }

  /** Records that this process has a login of the account. */
  loginFound(id: string): void {
    const account = this.#accounts.find(id);
    if (!account?.lacksLogin) return;
    account.lacksLogin = false;
    this.#changed(account);
  }

  /** Ends a cooldown for an exhausted quota, because a newer statement of the account says that it has quota again. */
  endQuotaCooldown(id: string): void {
    const account = this.#accounts.find(id);
    if (account?.breaker.outOfQuota) this.#save(account, account.breaker.recordSuccess());
  }

  /** Ends cooldowns without their timer, which is late after a machine slept or its clock was set. */
  endElapsedCooldowns(): void {
    if (this.#firstEnd.hasPassed) this.#endPhases();
  }

  /** All configured accounts, for /api/status. */
  status(): readonly HealthStatus[] {
    this.endElapsedCooldowns();
    return [...this.#accounts.configured].map((id) => healthStatus(this.#accounts.of(id)));
  }

  lastFailure(account: string): LastFailure | undefined {
    return this.#lastFailures.get(account);
  }

  /** Calls `listen` with the account's status after each possible change of its availability; returns the undo. */
  onChange(listen: (status: HealthStatus) => void): () => void {
    return this.#listeners.onChange(listen);
  }

  /** Calls `listen` if an attempt of this process shows that an account needs another login; other processes read that later. */
  onReauthRequired(listen: (account: string) => void): void {
    this.#listeners.onReauthRequired(listen);
  }

  /** Stops: no timer is set after this. */
  stop(): void {
    this.#firstEnd.stop();
  }

  /** If other nodes may probe too, the ticket asks for the right to probe before anything is sent. */
  #beginProbe(account: AccountHealth, ticket: AttemptTicket): void {
    const context = { time: () => this.#time(), changed: () => this.#changed(account) };
    ticket.claim = this.#options.claims?.ask(account, ticket, context);
    this.#notify(account);
  }

  /** Applies only to the credential that the attempt carried, because the account may have another one by now. */
  #refuseCredential(account: AccountHealth, ticket: AttemptTicket): boolean {
    const { credentials } = this.#options;
    const changed = this.#endAttempt(account, ticket, 'neutral');
    if (account.needsLogin || !credentials.isCurrent(account.id, ticket.credential)) return changed;
    account.reauthRequired = true;
    credentials.recordRefusal(account.id);
    this.#listeners.reauthRequired(account.id);
    return true;
  }

  #endAttempt(account: AccountHealth, ticket: AttemptTicket, result: AttemptResult): boolean {
    return account.end(ticket, result, { ...this.#time(), alternatives: this.#options.alternatives });
  }

  #time(): ResultTime {
    return { now: this.#options.clock.now(), attempts: this.#attempts };
  }

  /** @param ticket the attempt that probed the account; its lease guards the write */
  #save(account: AccountHealth, changed: boolean, ticket?: AttemptTicket): void {
    this.#accounts.store(account, ticket?.claim?.lease?.lease);
    this.#accounts.settle(account);
    if (changed) this.#changed(account);
  }

  #changed(account: AccountHealth): void {
    this.#firstEnd.include(endsOf(account));
    this.#notify(account);
  }

  #notify(account: AccountHealth): void {
    this.#version += 1;
    this.#listeners.changed(account);
  }

  #setTimer(): void {
    this.#firstEnd.set(this.#accounts.all().flatMap(endsOf));
  }

  /** Stores nothing, because the rows have the end, and another process may have opened another cooldown. */
  #endPhases(): void {
    const now = this.#options.clock.now();
    for (const account of this.#accounts.all()) {
      const ended = account.breakers.filter(({ phaseEnd }) => phaseEnd !== undefined && phaseEnd <= now);
      if (ended.length === 0) continue;
      for (const breaker of ended) breaker.endPhase();
      this.#accounts.settle(account);
      this.#notify(account);
    }
    this.#setTimer();
  }
}

const endsOf = ({ breakers }: AccountHealth): readonly number[] => breakers.flatMap(({ phaseEnd }) => phaseEnd ?? []);

const isLost = ({ claim }: AttemptTicket): boolean => claim?.lease?.isLost === true;
