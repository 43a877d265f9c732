// What is known of one account's quota, by whom and since when, and what that amounts to at a moment (Q8).
import type { Source, Statement } from './quota-statement.ts';
import { fullest, type QuotaWindow, resetOf } from './quota-window.ts';

export interface KnownWindow extends QuotaWindow {
  /** When it was stated; Unix milliseconds. */
  readonly at: number;
  readonly source: Source;
}

/** The account said of itself that it is out of quota, whatever its windows say. */
export interface Spent {
  readonly at: number;
  /** Unix seconds. */
  readonly until: number | undefined;
  /** Where it said so; refusals are as good as headers. */
  readonly source: Source;
}

/** What it amounts to. Times are Unix milliseconds. */
export interface Judgement {
  readonly exhausted: { readonly until: number | undefined } | undefined;
  /** What is left is the owner's (`reserve_percent`). */
  readonly reserved: { readonly until: number | undefined } | undefined;
  /** What the tightest window leaves beside the owner's share, 0 to 1; undefined is unknown. */
  readonly remaining: number | undefined;
  /** Of the windows that are known now, the one that starts anew first. */
  readonly nextReset: number | undefined;
}

/** Older evidence is unknown, and unknown is eligible. */
export const FRESH_MS = 15 * 60_000;

/** Turns that overlap are told about one moment: within it the more trusted word holds, after it the newer one. */
const SAME_MOMENT_MS = 60_000;

const TRUST: Readonly<Record<Source, number>> = { event: 3, headers: 2, read: 1 };

const FULL = 100;
/** Some providers round down what they state. */
const NEARLY_FULL = 95;

export class AccountQuota {
  #reserve = 0;
  #windows: readonly KnownWindow[] = [];
  #spent: Spent | undefined;
  /** A usage read has said otherwise since. */
  #doubted = false;
  #heardAt: number | undefined;
  #judged: Judgement | undefined;
  /** From when to when the judgement holds without looking again. */
  #judgedFrom = 0;
  #judgedTo = 0;

  get windows(): readonly KnownWindow[] {
    return this.#windows;
  }

  get spent(): Spent | undefined {
    return this.#spent;
  }

  /** When its provider last said anything of it. */
  get heardAt(): number | undefined {
    return this.#heardAt;
  }

  /** @param reserve percent kept for the owner */
  configure(reserve: number): void {
    this.#reserve = reserve;
    this.#judged = undefined;
  }

  /** @returns false where that only repeats what is known */
  hear({ source, windows, reached }: Statement, at: number): boolean {
    this.#heardAt = at;
    if (!this.#spent && reached !== true && this.#repeats(windows, source, at)) {
      // The judgement stands, and is looked at again no later than it would have been.
      this.#windows = this.#windows.map((window) => ({ ...window, at }));
      return false;
    }
    this.#judged = undefined;
    const next = new Map<number, KnownWindow>();
    for (const window of windows) {
      const twin = next.get(window.seconds);
      if (!twin || window.used > twin.used) next.set(window.seconds, { ...window, at, source });
    }
    // A window that is not mentioned any more the account no longer has.
    for (const known of this.#windows) if (isOf(known, at) && outranks(known, next.get(known.seconds))) next.set(known.seconds, known);
    this.#windows = [...next.values()].sort((a, b) => a.seconds - b.seconds);
    if (reached === true) this.#spend({ at, until: endOf(windows), source });
    else if (reached === false && windows.every(({ used }) => used < FULL) && this.#spent && !isOf(this.#spent, at)) {
      if (source === 'read' && this.#spent.source !== 'read') this.#doubted = true;
      else this.#spent = undefined;
    }
    return true;
  }

  /** A refusal for want of quota; without a stated end it says too little to be kept: health waits a little then (Q5). */
  refuse(until: number | undefined, at: number): void {
    this.#judged = undefined;
    this.#heardAt = at;
    if (until !== undefined) this.#spend({ at, until, source: 'headers' });
  }

  /**
   * Where the account said long ago that it is out, and its usage read has said since that it is not, the read is believed: asked for
   * only where the turn would be refused otherwise, since a refusal may know of limits that no read shows.
   * @returns whether that opened it
   */
  concede(now: number): boolean {
    if (!this.#spent || !this.#doubted || now - this.#spent.at < FRESH_MS) return false;
    this.#spent = undefined;
    this.#judged = undefined;
    return true;
  }

  restore(windows: readonly KnownWindow[], spent: Spent | undefined): void {
    this.#judged = undefined;
    this.#windows = windows;
    this.#spent = spent;
    const times = [...windows, ...(spent ? [spent] : [])].map(({ at }) => at);
    this.#heardAt = times.length > 0 ? Math.max(...times) : undefined;
  }

  /** The windows that say something now: young enough, or too full to have changed before their reset. */
  current(now: number): readonly KnownWindow[] {
    return this.#windows.filter((window) => {
      const reset = resetOf(window);
      if (reset !== undefined && reset <= now) return false;
      return now - window.at < FRESH_MS || (reset !== undefined && window.used >= FULL - this.#reserve);
    });
  }

  judge(now: number): Judgement {
    if (this.#judged && now >= this.#judgedFrom && now < this.#judgedTo) return this.#judged;
    this.#judged = this.#judge(now);
    this.#judgedFrom = now;
    const moments = [...this.#windows, ...(this.#spent ? [{ at: this.#spent.at, resetsAt: this.#spent.until }] : [])];
    const turns = moments.flatMap((moment) => [moment.at + FRESH_MS, resetOf(moment) ?? 0]);
    this.#judgedTo = Math.min(...turns.filter((turn) => turn > now), Number.POSITIVE_INFINITY);
    return this.#judged;
  }

  #judge(now: number): Judgement {
    const current = this.current(now);
    const kept = current.filter(({ used }) => used >= FULL - this.#reserve);
    const spent = this.#spent && holds(this.#spent, now) ? [{ resetsAt: this.#spent.until }] : [];
    const exhausted = spent.length > 0 || kept.some(({ used }) => used >= FULL);
    // It takes turns again when the last of them has started anew.
    const until = latest([...kept, ...spent].map(resetOf));
    const tightest = fullest(current);
    const left = tightest && Math.max(0, FULL - this.#reserve - tightest.used) / FULL;
    return {
      exhausted: exhausted ? { until } : undefined,
      reserved: !exhausted && kept.length > 0 ? { until } : undefined,
      remaining: exhausted ? 0 : left,
      nextReset: earliest(current.map(resetOf)),
    };
  }

  /** Of evidence that still counts: what had grown old is news again. */
  #repeats(windows: readonly QuotaWindow[], source: Source, at: number): boolean {
    if (windows.length !== this.#windows.length) return false;
    return windows.every((window) => {
      const known = this.#windows.find(({ seconds }) => seconds === window.seconds);
      if (!known || at - known.at >= FRESH_MS || known.source !== source) return false;
      return known.used === window.used && known.resetsAt === window.resetsAt;
    });
  }

  /** The later of two ends, of statements about one moment. */
  #spend(spent: Spent): void {
    const before = this.#spent && isOf(this.#spent, spent.at) ? this.#spent.until : undefined;
    this.#doubted = false;
    this.#spent = { ...spent, until: before === undefined ? spent.until : Math.max(before, spent.until ?? 0) };
  }
}

const outranks = (known: KnownWindow, stated: KnownWindow | undefined): boolean => !stated || TRUST[known.source] > TRUST[stated.source];

/** The reset that an account which takes no more turns waits for, where one of its windows can be the reason. */
const endOf = (windows: readonly QuotaWindow[]): number | undefined => {
  const window = fullest(windows);
  return window && window.used >= NEARLY_FULL ? window.resetsAt : undefined;
};

/** Whether what was said then is said of this moment. */
const isOf = (said: { readonly at: number }, at: number): boolean => at - said.at < SAME_MOMENT_MS;

const holds = ({ at, until }: Spent, now: number): boolean => (until === undefined ? now - at < FRESH_MS : now < until * 1000);

const latest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
};

const earliest = (times: readonly (number | undefined)[]): number | undefined => {
  const known = times.filter((time) => time !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
};
