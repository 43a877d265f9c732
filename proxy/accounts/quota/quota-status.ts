// An account's quota as operators see it.
import type { AccountQuota } from './account-quota.ts';
import { classOf, type WindowClass } from './quota-window.ts';

export interface WindowStatus {
  readonly class: WindowClass;
  readonly seconds: number;
  readonly used_percent: number;
  /** Unix seconds. */
  readonly resets_at: number | null;
  /** Where it is known from: `event`, `headers`, `read`. */
  readonly source: string;
  /** Unix milliseconds of that word. */
  readonly stated_at: number;
}

export interface QuotaStatus {
  readonly account: string;
  /** `unknown`: no evidence, or none younger than 15 minutes; such an account is eligible. */
  readonly status: 'available' | 'reserved' | 'exhausted' | 'unknown';
  /** Unix milliseconds at which an exhausted or reserved account is eligible again, where that is known. */
  readonly until: number | null;
  readonly windows: readonly WindowStatus[];
}

export function statusOf(account: string, quota: AccountQuota, now: number): QuotaStatus {
  const { exhausted, reserved, remaining } = quota.judge(now);
  const closed = exhausted ?? reserved;
  const open = remaining === undefined ? 'unknown' : 'available';
  return {
    account,
    status: exhausted ? 'exhausted' : reserved ? 'reserved' : open,
    until: closed?.until ?? null,
    windows: quota.current(now).map((window) => ({
      class: classOf(window),
      seconds: window.seconds,
      used_percent: window.used,
      resets_at: window.resetsAt ?? null,
      source: window.source,
      stated_at: window.at,
    })),
  };
}
