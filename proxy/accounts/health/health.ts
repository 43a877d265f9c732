// The health of all accounts: cooldowns, probes and refused credentials, in memory over the rows of the store (Q5).
import type { Lease } from '../../../store/store.ts';
import type { RoutabilityOfAccounts } from '../../models/pool-model.ts';
import { type FailureCause, needsLogin } from '../../turn/errors/failure.ts';
import type { Alternatives, ResultContext } from './account-breakers.ts';
import type { AccountHealth, AttemptTicket, HealthAvailability, HealthRecord } from './account-health.ts';
import type { AttemptResult } from './attempt-result.ts';
import type { HealthStatus } from './health-status.ts';
import { KnownAccounts, type KnownOptions } from './known-accounts.ts';
import type { ProbeClaims } from './probe-claims.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

export interface HealthOptions extends KnownOptions {
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
  readonly #lastFailures = new Map<string, LastFailure>();
  #attempts = 0;

  constructor(options: HealthOptions) {
    this.#options = options;
    this.#accounts = new KnownAccounts(options);
    options.states.onRefresh((accounts) => this.refresh(accounts));
  }

  get version(): number {
    this.endElapsedCooldowns();
    return this.#accounts.version;
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
    return this.#find(account)?.availability(scope) ?? 'available';
  }

  /** The end of the cooldowns that block turns of this scope; Unix milliseconds. */
  cooldownEnd(account: string, scope: string): number | undefined {
    return this.#find(account)?.cooldownEnd(scope);
  }

  /** Ends cooldowns without their timer, which is late after a machine slept or its clock was set. */
  endElapsedCooldowns(): void {
    const { at } = this.#accounts.firstEnd;
    if (at !== Number.POSITIVE_INFINITY && this.#options.clock.now() >= at) this.#accounts.endPhases();
  }

  /**
   * Begins an attempt; `end` must follow.
   * @param credential the static bearer that the attempt carries
   */
  begin(account: string, scope: string, credential?: string): AttemptTicket {
    this.endElapsedCooldowns();
    return this.beginAt(this.#options.records.of(account), scope, credential);
  }

  /** Begins an attempt at an account that was found available. */
  beginAt(record: HealthRecord, scope: string, credential: string | undefined): AttemptTicket {
    this.#attempts += 1;
    const ticket: AttemptTicket = { record, scope, number: this.#attempts, credential, probes: undefined, claim: undefined };
    const { health } = record;
    if (health?.begin(ticket)) this.#beginProbe(health, ticket);
    return ticket;
  }

  /** Records that the attempt's reply was committed. `end` still follows. */
  answered(ticket: AttemptTicket): void {
    const { health } = ticket.record;
    if (health && !isLost(ticket)) this.#accounts.save(health, health.answered(ticket), leaseOf(ticket));
  }

  end(ticket: AttemptTicket, stated: AttemptResult): void {
    // Another node probes by now, so its result counts.
    const result = isLost(ticket) ? 'neutral' : stated;
    const failed = typeof result === 'object';
    const { record } = ticket;
    if (failed && result.cause !== 'request') this.#lastFailures.set(record.id, { cause: result.cause, at: this.#options.clock.now() });
    const health = failed ? this.#accounts.open(record) : record.health;
    if (health) {
      const changed = failed && needsLogin(result) ? this.#refuseCredential(health, ticket) : health.end(ticket, result, this.#context());
      this.#accounts.save(health, changed, leaseOf(ticket));
    }
    if (ticket.claim) void this.#options.claims?.end(record.id, ticket.claim, () => this.refresh([record.id]));
  }

  /** Restores what an earlier process stored. */
  start(config: HealthConfig): void {
    this.configure(config);
  }

  /** Takes over the state of these accounts that another process stored. */
  refresh(ids: Iterable<string>): void {
    const { credentials, records } = this.#options;
    for (const id of ids) {
      // With several nodes another node may have accounts that this one does not have.
      if (!this.#accounts.configured.has(id)) continue;
      const { health, changed, isNewer } = this.#accounts.adopt(records.of(id), this.#context());
      // The other process has another bearer, and its refusal applies only to that one.
      if (health.reauthRequired && credentials.isReplaced(id)) health.reauthRequired = false;
      if (isNewer) this.#accounts.store(health);
      if (changed) this.#accounts.changed(health);
    }
  }

  /** Drops removed accounts, and the refusals of replaced credentials. */
  configure({ accounts, bearers }: HealthConfig): void {
    const { credentials } = this.#options;
    credentials.configure(bearers);
    const added = this.#accounts.configure(accounts.map(({ id }) => id));
    for (const record of added) this.#accounts.adopt(record, this.#context());
    for (const { id, reauthRequired, lacksLogin } of this.#accounts.all()) {
      if (lacksLogin ? bearers.has(id) : reauthRequired && credentials.isReplaced(id)) this.reset(id);
    }
    for (const id of this.#lastFailures.keys()) if (!this.#accounts.configured.has(id)) this.#lastFailures.delete(id);
    this.#accounts.reconfigured();
  }

  /** Blocks turns of a scope at the account for the time that the account stated, if another account can take them (AA39). */
  pause(id: string, scope: string, ms: number): void {
    if (!this.#accounts.configured.has(id)) return;
    const health = this.#open(id);
    this.#accounts.save(health, health.pause(scope, ms, this.#context()));
  }

  /** Clears the account's state, because an operator requested it or the account has another credential. */
  reset(account: string): void {
    const record = this.#options.records.find(account);
    if (!record || !this.#accounts.forget(record)) return;
    const initial = this.#accounts.of(record);
    this.#accounts.store(initial);
    this.#accounts.notify(initial);
  }

  /** Records that this process has no login of the account that it can use. The account gets no turns here until it has one. */
  loginMissing(id: string): void {
    const health = this.#open(id);
    if (health.needsLogin) return;
    health.lacksLogin = true;
    this.#accounts.listeners.reauthRequired(id);
    this.#accounts.changed(health);
  }

  /** Records that this process has a login of the account. */
  loginFound(id: string): void {
    const health = this.#find(id);
    if (!health?.lacksLogin) return;
    health.lacksLogin = false;
    this.#accounts.changed(health);
  }

  /** Ends a cooldown for an exhausted quota, because a newer statement of the account says that it has quota again. */
  endQuotaCooldown(id: string): void {
    const health = this.#find(id);
    if (health?.breakers.whole.outOfQuota) this.#accounts.save(health, health.breakers.whole.recordSuccess());
  }

  /** All configured accounts, for /api/status. */
  status(): readonly HealthStatus[] {
    this.endElapsedCooldowns();
    return this.#accounts.status();
  }

  lastFailure(account: string): LastFailure | undefined {
    return this.#lastFailures.get(account);
  }

  /** Calls `listen` with the account's status after each possible change of its availability; returns the undo. */
  onChange(listen: (status: HealthStatus) => void): () => void {
    return this.#accounts.listeners.onChange(listen);
  }

  /** Calls `listen` if an attempt of this process shows that an account needs another login; other processes read that later. */
  onReauthRequired(listen: (account: string) => void): void {
    this.#accounts.listeners.onReauthRequired(listen);
  }

  /** Stops: no timer is set after this. */
  stop(): void {
    this.#accounts.firstEnd.stop();
  }

  #find(id: string): AccountHealth | undefined {
    return this.#options.records.find(id)?.health;
  }

  #open(id: string): AccountHealth {
    return this.#accounts.open(this.#options.records.of(id));
  }

  /** If other nodes may probe too, the ticket asks for the right to probe before anything is sent. */
  #beginProbe(health: AccountHealth, ticket: AttemptTicket): void {
    const context = { time: () => this.#context(), changed: () => this.#accounts.changed(health) };
    ticket.claim = this.#options.claims?.ask(health, ticket, context);
    this.#accounts.notify(health);
  }

  /** Applies only to the credential that the attempt carried, because the account may have another one by now. */
  #refuseCredential(health: AccountHealth, ticket: AttemptTicket): boolean {
    const { credentials } = this.#options;
    const changed = health.end(ticket, 'neutral', this.#context());
    if (health.needsLogin || !credentials.isCurrent(health.id, ticket.credential)) return changed;
    health.reauthRequired = true;
    credentials.recordRefusal(health.id);
    this.#accounts.listeners.reauthRequired(health.id);
    return true;
  }

  #context(): ResultContext {
    const { clock, alternatives } = this.#options;
    return { now: clock.now(), attempts: this.#attempts, alternatives };
  }
}

const isLost = ({ claim }: AttemptTicket): boolean => claim?.lease?.isLost === true;

/** The lease of the attempt, if it probed the account. It guards the write. */
const leaseOf = ({ claim }: AttemptTicket): Lease | undefined => claim?.lease?.lease;
