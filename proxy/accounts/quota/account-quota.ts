// The quota of one account: what statements leave of its evidence, and the state that follows from it at a given time (Q8).
import { fullest, type QuotaSource, type QuotaStatement, type QuotaWindow, resetOf } from '../../turn/provider/quota-statement.ts';
import { type Exhaustion, FRESH_MS, type KnownWindow, SAME_MOMENT_MS, type StoredQuota } from './quota-evidence.ts';

/** The state that follows from the evidence. Times are Unix milliseconds. */
export interface QuotaState {
  readonly exhausted: { readonly until: number | undefined } | undefined;
  /** Set if the remaining quota is reserved for the account's owner (`reserve_percent`). */
  readonly reserved: { readonly until: number | undefined } | undefined;
  /** The remaining share of the tightest window minus the reserve, 0 to 1; undefined if unknown. */
  readonly remaining: number | undefined;
  /** The earliest reset of the windows that are known now. */
  readonly nextReset: number | undefined;
}

const TRUST: Readonly<Record<QuotaSource, number>> = { event: 3, headers: 2, read: 1 };

const FULL = 100;
/** At this percentage a window may be full, because some providers round down. */
const NEARLY_FULL = 95;

export class AccountQuota {
  #reserve = 0;
  #windows: readonly KnownWindow[] = [];
  #exhaustion: Exhaustion | undefined;
  /** Whether a later usage read has contradicted the exhaustion. */
  #contradicted = false;
  /** When a newer statement ended the last exhaustion; Unix milliseconds. */
  #recoveredAt: number | undefined;
  /** Unix milliseconds; 0 without a statement. */
  #updatedAt = 0;
  /** When all windows were last stated again without a change, in Unix milliseconds; 0 if they were not. It replaces their own times. */
  #repeatedAt = 0;
  #state: QuotaState | undefined;
  /** The time from which the cached state is valid, and the time until which it is; Unix milliseconds. */
  #stateFrom = 0;
  #stateTo = 0;

  get windows(): readonly KnownWindow[] {
    if (this.#repeatedAt === 0) return this.#windows;
    const at = this.#repeatedAt;
    this.#repeatedAt = 0;
    this.#windows = this.#windows.map((window) => ({ ...window, at }));
    return this.#windows;
  }

  get exhaustion(): Exhaustion | undefined {
    return this.#exhaustion;
  }

  /** The time of the provider's last statement; Unix milliseconds. */
  get updatedAt(): number | undefined {
    return this.#updatedAt === 0 ? undefined : this.#updatedAt;
  }

  /** @param reserve percent reserved for the owner */
  configure(reserve: number): void {
    this.#reserve = reserve;
    this.#state = undefined;
  }

  /** @returns false if the statement only repeats known evidence */
  record({ source, windows, reached }: QuotaStatement, at: number): boolean {
    this.#updatedAt = at;
    if (!this.#exhaustion && reached !== true && this.#isRepetition(windows, source, at)) {
      // The cached state stays valid until the time computed from the older statement. Nothing is allocated, because most replies repeat.
      this.#repeatedAt = at;
      return false;
    }
    this.#state = undefined;
    const next = new Map<number, KnownWindow>();
    for (const window of windows) {
      const twin = next.get(window.seconds);
      if (!twin || window.used > twin.used) next.set(window.seconds, { ...window, at, source });
    }
    // Windows that the provider no longer reports are dropped.
    for (const known of this.windows) {
      if (isSameMoment(known, at) && isMoreTrusted(known, next.get(known.seconds))) next.set(known.seconds, known);
    }
    this.#windows = [...next.values()].sort((a, b) => a.seconds - b.seconds);
    if (reached === true) this.#exhaust({ at, until: resetOfFullest(windows), source });
    else if (reached === false && windows.every(({ used }) => used < FULL) && this.#exhaustion && !isSameMoment(this.#exhaustion, at)) {
      if (source === 'read' && this.#exhaustion.source !== 'read') this.#contradicted = true;
      else this.#recover(at);
    }
    return true;
  }

  /**
   * Records a refusal for lack of quota. If it states no reset, the reset of a window that was stated as full at the same time counts
   * (RB22). Without such a window nothing is stored here, because health opens a cooldown instead (Q5).
   * @param resetsAt Unix seconds
   */
  recordRefusal(resetsAt: number | undefined, at: number): void {
    this.#state = undefined;
    this.#updatedAt = at;
    const until = resetsAt ?? resetOfFullest(this.windows.filter((window) => isSameMoment(window, at)));
    if (until !== undefined) this.#exhaust({ at, until, source: 'headers' });
  }

  /** Records a limit without window and reset. It lasts until a later usage read contradicts it (RB23). */
  recordLastingLimit(at: number): void {
    this.#state = undefined;
    this.#updatedAt = at;
    this.#exhaust({ at, until: undefined, source: 'read' });
  }

  /**
   * Ends an old exhaustion that a later usage read has contradicted. Called only before a turn would be refused, because a refusal can be
   * due to limits that no usage read shows.
   * @returns whether the account has quota again
   */
  endContradictedExhaustion(now: number): boolean {
    if (!this.#exhaustion || !this.#contradicted || now - this.#exhaustion.at < FRESH_MS) return false;
    this.#recover(now);
    this.#state = undefined;
    return true;
  }

  toStored(): StoredQuota {
    return { windows: this.windows, spent: this.#exhaustion ?? null, recovered: this.#recoveredAt ?? null };
  }

  /**
   * Takes over newer statements from the store, made by an earlier process or other nodes. The result does not depend on the order in which
   * nodes read each other's statements, because otherwise they would write in reply to each other without end.
   */
  adopt({ windows, spent, recovered }: StoredQuota): void {
    this.#state = undefined;
    if (latestOf(windows) >= latestOf(this.windows)) this.#windows = windows;
    const recoveredAt = Math.max(this.#recoveredAt ?? 0, recovered ?? 0);
    if (recoveredAt > 0) this.#recoveredAt = recoveredAt;
    if (this.#exhaustion && this.#exhaustion.at < recoveredAt) this.#exhaustion = undefined;
    if (spent && spent.at > recoveredAt && isNewer(spent, this.#exhaustion)) this.#exhaust(spent);
    const times = [...this.windows, ...(this.#exhaustion ? [this.#exhaustion] : [])].map(({ at }) => at);
    if (times.length > 0) this.#updatedAt = Math.max(this.#updatedAt, ...times);
  }

  /** The valid windows: fresh ones, and full ones until their reset. */
  currentWindows(now: number): readonly KnownWindow[] {
    return this.windows.filter((window) => {
      const reset = resetOf(window);
      if (reset !== undefined && reset <= now) return false;
      return now - window.at < FRESH_MS || (reset !== undefined && window.used >= FULL - this.#reserve);
    });
  }

  stateAt(now: number): QuotaState {
    if (this.#state && now >= this.#stateFrom && now < this.#stateTo) return this.#state;
    this.#state = this.#evaluate(now);
    this.#stateFrom = now;
    const evidence = [...this.windows, ...(this.#exhaustion ? [{ at: this.#exhaustion.at, resetsAt: this.#exhaustion.until }] : [])];
    const changes = evidence.flatMap((item) => [item.at + FRESH_MS, resetOf(item) ?? 0]);
    this.#stateTo = Math.min(...changes.filter((change) => change > now), Number.POSITIVE_INFINITY);
    return this.#state;
  }

  #evaluate(now: number): QuotaState {
    const current = this.currentWindows(now);
    const full = current.filter(({ used }) => used >= FULL - this.#reserve);
    const stated = this.#exhaustion && isInEffect(this.#exhaustion, now) ? [{ resetsAt: this.#exhaustion.until }] : [];
    const exhausted = stated.length > 0 || full.some(({ used }) => used >= FULL);
    // The account accepts turns again after the last of these resets.
    const until = latest([...full, ...stated].map(resetOf));
    const tightest = fullest(current);
    const left = tightest && Math.max(0, FULL - this.#reserve - tightest.used) / FULL;
    return {
      exhausted: exhausted ? { until } : undefined,
      reserved: !exhausted && full.length > 0 ? { until } : undefined,
      remaining: exhausted ? 0 : left,
      nextReset: earliest(current.map(resetOf)),
    };
  }

  /** Whether all windows are known, fresh and unchanged. */
  #isRepetition(windows: readonly QuotaWindow[], source: QuotaSource, at: number): boolean {
    if (windows.length !== this.#windows.length) return false;
    for (const window of windows) {
      const known = this.#windows.find(({ seconds }) => seconds === window.seconds);
      if (!known || at - Math.max(known.at, this.#repeatedAt) >= FRESH_MS || known.source !== source) return false;
      if (known.used !== window.used || known.resetsAt !== window.resetsAt) return false;
    }
    return true;
  }

  #recover(at: number): void {
    this.#exhaustion = undefined;
    this.#recoveredAt = at;
  }

  /** Records an exhaustion. If two statements concern the same moment, the one with the later end counts. */
  #exhaust(exhaustion: Exhaustion): void {
    const before = this.#exhaustion && isSameMoment(this.#exhaustion, exhaustion.at) ? this.#exhaustion.until : undefined;
    this.#contradicted = false;
    this.#exhaustion = { ...exhaustion, until: before === undefined ? exhaustion.until : Math.max(before, exhaustion.until ?? 0) };
  }
}

const latestOf = (windows: readonly KnownWindow[]): number => Math.max(0, ...windows.map(({ at }) => at));

/** Whether a statement replaces the known one: it is newer, or at the same time it has a later end. */
const isNewer = (stated: Exhaustion, known: Exhaustion | undefined): boolean =>
  !known || stated.at > known.at || (stated.at === known.at && (stated.until ?? 0) > (known.until ?? 0));

const isMoreTrusted = (known: KnownWindow, stated: KnownWindow | undefined): boolean =>
  !stated || TRUST[known.source] > TRUST[stated.source];

/** The reset of the fullest window; undefined if that window is not full enough to be the reason for the exhaustion. */
const resetOfFullest = (windows: readonly QuotaWindow[]): number | undefined => {
  const window = fullest(windows);
  return window && window.used >= NEARLY_FULL ? window.resetsAt : undefined;
};

const isSameMoment = (stated: { readonly at: number }, at: number): boolean => at - stated.at < SAME_MOMENT_MS;

const isInEffect = ({ at, until }: Exhaustion, now: number): boolean => (until === undefined ? now - at < FRESH_MS : now < until * 1000);

const latest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
};

const earliest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};
