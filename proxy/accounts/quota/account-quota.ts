// The quota evidence of one account, and what it amounts to at a given time (Q8).
import type { QuotaSource, QuotaStatement, QuotaWindow } from '../../turn/provider/quota-statement.ts';
import { fullest, resetOf } from './quota-window.ts';

export interface KnownWindow extends QuotaWindow {
  /** Unix milliseconds at which it was stated. */
  readonly at: number;
  readonly source: QuotaSource;
}

/** The account's own statement that it is out of quota. It takes precedence over the windows. */
export interface Exhaustion {
  /** Unix milliseconds at which it was stated. */
  readonly at: number;
  /** Unix seconds. */
  readonly until: number | undefined;
  /** A refusal is trusted like headers; a limit without a window like a read, so that a read ends it. */
  readonly source: QuotaSource;
}

/** Evidence as the store and other nodes have it. */
export interface StoredQuota {
  readonly windows: readonly KnownWindow[];
  readonly spent: Exhaustion | null;
  /** When a newer statement ended the last exhaustion; Unix milliseconds. */
  readonly recovered: number | null;
}

/** The state that follows from the evidence. Times are Unix milliseconds. */
export interface QuotaState {
  readonly exhausted: { readonly until: number | undefined } | undefined;
  /** The remaining quota is reserved for the account's owner (`reserve_percent`). */
  readonly reserved: { readonly until: number | undefined } | undefined;
  /** The share of the tightest window that is left, minus the reserve, 0 to 1; undefined is unknown. */
  readonly remaining: number | undefined;
  /** The first reset of the windows that are known now. */
  readonly nextReset: number | undefined;
}

/** Older evidence is unknown, and an account without evidence is eligible. */
export const FRESH_MS = 15 * 60_000;

/** Overlapping turns report the same moment. Within it the more trusted source is used, after it the newer statement. */
export const SAME_MOMENT_MS = 60_000;

const TRUST: Readonly<Record<QuotaSource, number>> = { event: 3, headers: 2, read: 1 };

const FULL = 100;
/** Some providers round the percentage down. */
const NEARLY_FULL = 95;

export class AccountQuota {
  #reserve = 0;
  #windows: readonly KnownWindow[] = [];
  #exhaustion: Exhaustion | undefined;
  /** A usage read has contradicted the exhaustion since. */
  #contradicted = false;
  /** When a newer statement ended the last exhaustion; Unix milliseconds. */
  #recoveredAt: number | undefined;
  #updatedAt: number | undefined;
  #state: QuotaState | undefined;
  /** The cached state is valid from here to there; Unix milliseconds. */
  #stateFrom = 0;
  #stateTo = 0;

  get windows(): readonly KnownWindow[] {
    return this.#windows;
  }

  get exhaustion(): Exhaustion | undefined {
    return this.#exhaustion;
  }

  /** The time of the provider's last statement; Unix milliseconds. */
  get updatedAt(): number | undefined {
    return this.#updatedAt;
  }

  /** @param reserve percent reserved for the owner */
  configure(reserve: number): void {
    this.#reserve = reserve;
    this.#state = undefined;
  }

  /** @returns false if the statement only repeats what is known */
  record({ source, windows, reached }: QuotaStatement, at: number): boolean {
    this.#updatedAt = at;
    if (!this.#exhaustion && reached !== true && this.#isRepetition(windows, source, at)) {
      // The cached state stays valid until the time that was computed for the older statement.
      this.#windows = this.#windows.map((window) => ({ ...window, at }));
      return false;
    }
    this.#state = undefined;
    const next = new Map<number, KnownWindow>();
    for (const window of windows) {
      const twin = next.get(window.seconds);
      if (!twin || window.used > twin.used) next.set(window.seconds, { ...window, at, source });
    }
    // A window that the provider no longer reports is gone.
    for (const known of this.#windows) {
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
   * Records a refusal for lack of quota. If it states no reset, that of a window counts which is stated as full at the same time (RB22).
   * Without any it is not stored here: health cools the account down (Q5).
   * @param resetsAt Unix seconds
   */
  recordRefusal(resetsAt: number | undefined, at: number): void {
    this.#state = undefined;
    this.#updatedAt = at;
    const until = resetsAt ?? resetOfFullest(this.#windows.filter((window) => isSameMoment(window, at)));
    if (until !== undefined) this.#exhaust({ at, until, source: 'headers' });
  }

  /** Records a limit without window and reset: it lasts until a usage read, asked later, says otherwise (RB23). */
  recordLastingLimit(at: number): void {
    this.#state = undefined;
    this.#updatedAt = at;
    this.#exhaust({ at, until: undefined, source: 'read' });
  }

  /**
   * Ends an old exhaustion that a usage read has contradicted since. Called only before a turn would be refused, because a refusal can
   * be due to limits that no usage read shows.
   * @returns whether the account has quota again
   */
  endContradictedExhaustion(now: number): boolean {
    if (!this.#exhaustion || !this.#contradicted || now - this.#exhaustion.at < FRESH_MS) return false;
    this.#recover(now);
    this.#state = undefined;
    return true;
  }

  toStored(): StoredQuota {
    return { windows: this.#windows, spent: this.#exhaustion ?? null, recovered: this.#recoveredAt ?? null };
  }

  /**
   * Takes over newer statements from the store, of an earlier process or of other nodes. The result does not depend on the order in which
   * nodes read each other's statements: otherwise they would write in reply to each other without end.
   */
  adopt({ windows, spent, recovered }: StoredQuota): void {
    this.#state = undefined;
    if (latestOf(windows) >= latestOf(this.#windows)) this.#windows = windows;
    const recoveredAt = Math.max(this.#recoveredAt ?? 0, recovered ?? 0);
    if (recoveredAt > 0) this.#recoveredAt = recoveredAt;
    if (this.#exhaustion && this.#exhaustion.at < recoveredAt) this.#exhaustion = undefined;
    if (spent && spent.at > recoveredAt && isNewer(spent, this.#exhaustion)) this.#exhaust(spent);
    const times = [...this.#windows, ...(this.#exhaustion ? [this.#exhaustion] : [])].map(({ at }) => at);
    if (times.length > 0) this.#updatedAt = Math.max(this.#updatedAt ?? 0, ...times);
  }

  /** The windows that are valid now: fresh ones, and full ones until their reset. */
  currentWindows(now: number): readonly KnownWindow[] {
    return this.#windows.filter((window) => {
      const reset = resetOf(window);
      if (reset !== undefined && reset <= now) return false;
      return now - window.at < FRESH_MS || (reset !== undefined && window.used >= FULL - this.#reserve);
    });
  }

  stateAt(now: number): QuotaState {
    if (this.#state && now >= this.#stateFrom && now < this.#stateTo) return this.#state;
    this.#state = this.#evaluate(now);
    this.#stateFrom = now;
    const evidence = [...this.#windows, ...(this.#exhaustion ? [{ at: this.#exhaustion.at, resetsAt: this.#exhaustion.until }] : [])];
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

  /** Whether all windows are known, fresh and equal. */
  #isRepetition(windows: readonly QuotaWindow[], source: QuotaSource, at: number): boolean {
    if (windows.length !== this.#windows.length) return false;
    return windows.every((window) => {
      const known = this.#windows.find(({ seconds }) => seconds === window.seconds);
      if (!known || at - known.at >= FRESH_MS || known.source !== source) return false;
      return known.used === window.used && known.resetsAt === window.resetsAt;
    });
  }

  #recover(at: number): void {
    this.#exhaustion = undefined;
    this.#recoveredAt = at;
  }

  /** Of two statements about one moment the later end is used. */
  #exhaust(exhaustion: Exhaustion): void {
    const before = this.#exhaustion && isSameMoment(this.#exhaustion, exhaustion.at) ? this.#exhaustion.until : undefined;
    this.#contradicted = false;
    this.#exhaustion = { ...exhaustion, until: before === undefined ? exhaustion.until : Math.max(before, exhaustion.until ?? 0) };
  }
}

const latestOf = (windows: readonly KnownWindow[]): number => Math.max(0, ...windows.map(({ at }) => at));

/** Of two statements at the same time the later end is used. */
const isNewer = (stated: Exhaustion, known: Exhaustion | undefined): boolean =>
  !known || stated.at > known.at || (stated.at === known.at && (stated.until ?? 0) > (known.until ?? 0));

const isMoreTrusted = (known: KnownWindow, stated: KnownWindow | undefined): boolean =>
  !stated || TRUST[known.source] > TRUST[stated.source];

/** The reset of the fullest window, if that window can be the reason for the exhaustion. */
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
