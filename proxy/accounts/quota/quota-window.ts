// The windows of an account's quota: their class, their reset, and the fullest one (Q8, Q20).
import type { QuotaWindow } from '../../turn/provider/quota-statement.ts';

/** `primary`: at most a day. `secondary`: longer (Q8, Q20). */
export type WindowClass = 'primary' | 'secondary';

const DAY_SECONDS = 86_400;

export const classOf = ({ seconds }: Pick<QuotaWindow, 'seconds'>): WindowClass => (seconds <= DAY_SECONDS ? 'primary' : 'secondary');

/** Unix milliseconds. */
export const resetOf = ({ resetsAt }: Pick<QuotaWindow, 'resetsAt'>): number | undefined =>
  resetsAt === undefined ? undefined : resetsAt * 1000;

/** The window with the least quota left; the first of equal ones. */
export function fullest<W extends Pick<QuotaWindow, 'used'>>(windows: readonly W[]): W | undefined {
  let found: W | undefined;
  for (const window of windows) if (!found || window.used > found.used) found = window;
  return found;
}
