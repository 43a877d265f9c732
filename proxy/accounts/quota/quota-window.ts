// One quota window of an account: its length, which is what tells it from the others, how full it is, and when it starts anew (Q8).

export interface QuotaWindow {
  /** Its length in seconds. Providers put the same window into one slot today and into the other tomorrow: the slot says nothing. */
  readonly seconds: number;
  /** Percent used, 0 to 100. */
  readonly used: number;
  /** Unix seconds; undefined where none was stated that could be true. */
  readonly resetsAt: number | undefined;
}

/** Up to a day, or longer (Q8, Q20). */
export type WindowClass = 'primary' | 'secondary';

const DAY_SECONDS = 86_400;

export const classOf = ({ seconds }: Pick<QuotaWindow, 'seconds'>): WindowClass => (seconds <= DAY_SECONDS ? 'primary' : 'secondary');

/** Unix milliseconds. */
export const resetOf = ({ resetsAt }: Pick<QuotaWindow, 'resetsAt'>): number | undefined =>
  resetsAt === undefined ? undefined : resetsAt * 1000;

/** The one that leaves the least; of two, the first. */
export function fullest<W extends Pick<QuotaWindow, 'used'>>(windows: readonly W[]): W | undefined {
  let found: W | undefined;
  for (const window of windows) if (!found || window.used > found.used) found = window;
  return found;
}
