// The health of all accounts: who may be asked, when again, and who decides that; its truth is in memory, the store has a copy (Q5).
import type { Clock } from '../../clock.ts';
import type { RoutabilityOfAccounts } from '../../models/pool-model.ts';
import { AccountHealth, type HealthAvailability, type Moment, type Others } from './account-health.ts';
import type { AccountStates } from './account-states.ts';
import type { AttemptTicket, Result } from './attempt-ticket.ts';
import { fieldsOf, type HealthStatus, restoreFrom, statusOf } from './health-status.ts';
import type { RefusedCredentials } from './refused-credentials.ts';

export interface HealthOptions {
  readonly clock: Clock;
  /** Both loaded before `start`. */
  readonly states: AccountStates;
  readonly credentials: RefusedCredentials;
  readonly others: Others;
}

/** What is configured, as far as health depends on it. */
export interface HealthConfig {
  readonly accounts: readonly { readonly id: string }[];
  /** Account id to its static bearer. */
  readonly bearers: ReadonlyMap<string, string>;
}

/** Longer timers fire at once. */
const LONGEST_TIMER_MS = 86_400_000;

export class Health implements RoutabilityOfAccounts {
  readonly #options: HealthOptions;
  /** Only accounts of which something is to be remembered: all others are well. */
  readonly #known = new Map<string, AccountHealth>();
  readonly #listeners = new Set<(status: HealthStatus) => void>();
  #accounts: readonly string[] = [];
  #version = 0;
  #visits = 0;
  /** When the first cooldown ends. */
  #nextEnd = Number.POSITIVE_INFINITY;
  #cancelTimer: () => void = () => undefined;

  constructor(options: HealthOptions) {
    this.#options = options;
  }

  get version(): number {
    this.catchUp();
    return this.#version;
  }

  /**
   * The part of UA1 that changes while the gateway runs. A spent quota has no say in it (UA2), nor has a probe: once its cooldown has
   * passed an account is a source of its models again, though until the probe has decided no other turn goes there.
   */
  routable(account: string, model: string): boolean {
    const standing = this.standing(account, model);
    return standing !== 'reauth_required' && standing !== 'cooldown';
  }

  /** @param model exposed id, or the word that stands for it on routes without models */
  standing(account: string, model: string): HealthAvailability {
    this.catchUp();
    return this.#known.get(account)?.standing(model) ?? 'open';
  }

  /** When the cooldowns that keep this model's turns away are over; Unix milliseconds. */
  until(account: string, model: string): number | undefined {
    return this.#known.get(account)?.until(model);
  }

  /** Takes what an earlier process knew. */
  start(config: HealthConfig): void {
    const { states, clock } = this.#options;
    for (const account of states.accounts()) {
      const known = new AccountHealth(account);
      restoreFrom(states.rows(account), known, clock.now());
      if (!known.sound) this.#known.set(account, known);
    }
    this.configure(config);
  }

  /** Forgets accounts that are gone, and the refusal of credentials that were replaced. */
  configure({ accounts, bearers }: HealthConfig): void {
    const { states, credentials } = this.#options;
    this.#accounts = accounts.map(({ id }) => id);
    credentials.configure(bearers);
    const configured = new Set(this.#accounts);
    for (const account of states.accounts()) if (!configured.has(account)) states.drop(account);
    for (const { id, reauth } of [...this.#known.values()]) {
      if (!configured.has(id)) this.#known.delete(id);
      else if (reauth && credentials.replaced(id)) this.restore(id);
    }
    this.#version += 1;
    this.#arm();
  }

  /**
   * An attempt goes there now; `end` must follow.
   * @param credential the static bearer that it carries
   */
  begin(account: string, model: string, credential?: string): AttemptTicket {
    this.catchUp();
    this.#visits += 1;
    const visit: AttemptTicket = { account, model, number: this.#visits, credential, probes: undefined };
    const known = this.#known.get(account);
    if (known?.enter(visit)) this.#moved(known);
    return visit;
  }

  /** The reply was committed: an answer is there, if not yet to its end. */
  answered(visit: AttemptTicket): void {
    const known = this.#known.get(visit.account);
    if (known) this.#after(known, known.answered(visit));
  }

  end(visit: AttemptTicket, result: Result): void {
    const failed = typeof result === 'object';
    const known = this.#known.get(visit.account) ?? (failed ? new AccountHealth(visit.account) : undefined);
    if (!known) return;
    this.#known.set(known.id, known);
    const refused = failed && result.cause === 'credential' && result.status === 401;
    this.#after(known, refused ? this.#refuse(known, visit) : known.left(visit, result, this.#moment()));
  }

  /** An operator's word, or another credential: the account is as good as new. */
  restore(account: string): void {
    if (!this.#known.delete(account)) return;
    const well = new AccountHealth(account);
    this.#options.states.putHealth(account, fieldsOf(well));
    this.#moved(well);
  }

  /** The account's own newer word: it has quota again. */
  relieve(account: string): void {
    const known = this.#known.get(account);
    if (known?.whole.spent) this.#after(known, known.whole.forgive());
  }

  /** Ends the cooldowns whose time is over: a machine that slept, or a clock that was set, does not wait for its timer. */
  catchUp(): void {
    if (this.#nextEnd !== Number.POSITIVE_INFINITY && this.#options.clock.now() >= this.#nextEnd) this.#pass();
  }

  /** Every configured account, for operators. */
  status(): readonly HealthStatus[] {
    this.catchUp();
    return this.#accounts.map((id) => statusOf(this.#known.get(id) ?? new AccountHealth(id)));
  }

  /** Tells `listen` of each account for which turns may pass differently now; returns the undo. */
  onChange(listen: (status: HealthStatus) => void): () => void {
    this.#listeners.add(listen);
    return () => void this.#listeners.delete(listen);
  }

  /** No timer from here on. */
  stop(): void {
    this.#cancelTimer();
  }

  /** What was refused is what that turn carried: by now there may be another credential. */
  #refuse(known: AccountHealth, visit: AttemptTicket): boolean {
    const { credentials } = this.#options;
    const moved = known.left(visit, 'neutral', this.#moment());
    if (known.reauth || !credentials.isCurrent(known.id, visit.credential)) return moved;
    known.reauth = true;
    credentials.refuse(known.id);
    return true;
  }

  #moment(): Moment {
    return { now: this.#options.clock.now(), visits: this.#visits, others: this.#options.others };
  }

  #after(known: AccountHealth, moved: boolean): void {
    this.#options.states.putHealth(known.id, fieldsOf(known));
    if (known.sound) this.#known.delete(known.id);
    if (!moved) return;
    this.#arm();
    this.#moved(known);
  }

  #moved(known: AccountHealth): void {
    this.#version += 1;
    if (this.#listeners.size === 0) return;
    const status = statusOf(known);
    for (const listen of this.#listeners) listen(status);
  }

  /** One timer, for the cooldown that ends first. */
  #arm(): void {
    this.#cancelTimer();
    this.#cancelTimer = () => undefined;
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const { cooling } of this.#known.values()) for (const { until } of cooling) this.#nextEnd = Math.min(this.#nextEnd, until);
    if (this.#nextEnd === Number.POSITIVE_INFINITY) return;
    const { clock } = this.#options;
    const ms = Math.min(LONGEST_TIMER_MS, Math.max(0, this.#nextEnd - clock.now()));
    this.#cancelTimer = clock.after(ms, () => this.#pass());
  }

  #pass(): void {
    const now = this.#options.clock.now();
    this.#nextEnd = Number.POSITIVE_INFINITY;
    for (const known of [...this.#known.values()]) {
      const over = known.cooling.filter(({ until }) => until <= now);
      if (over.length === 0) continue;
      for (const condition of over) condition.pass();
      this.#after(known, true);
    }
    this.#arm();
  }
}
