// One quota window of an account. Its length identifies it, because providers move a window between their slots (Q8).

export interface QuotaWindow {
  /** Its length in seconds. */
  readonly seconds: number;
  /** Percent used, 0 to 100. */
  readonly used: number;
  /** Unix seconds; undefined where no possible time was stated. */
  readonly resetsAt: number | undefined;
}

/** `primary`: up to a day. `secondary`: longer (Q8, Q20). */
export type WindowClass = 'primary' | 'secondary';

const DAY_SECONDS = 86_400;

export const classOf = ({ seconds }: Pick<QuotaWindow, 'seconds'>): WindowClass => (seconds <= DAY_SECONDS ? 'primary' : 'secondary');

/** Unix milliseconds. */
export const resetOf = ({ resetsAt }: Pick<QuotaWindow, 'resetsAt'>): number | undefined =>
  resetsAt === undefined ? undefined : resetsAt * 1000;

/** The window with the least left; the first of equal ones. */
export function fullest<W extends Pick<QuotaWindow, 'used'>>(windows: readonly W[]): W | undefined {
  let found: W | undefined;
  for (const window of windows) if (!found || window.used > found.used) found = window;
  return found;
}
