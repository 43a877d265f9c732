// An account's quota outside this room: the form that /api/status reports, and the form that the store keeps through a restart.
import { classOf, type QuotaSource, type WindowClass } from '../../turn/provider/quota-statement.ts';
import type { AccountQuota } from './account-quota.ts';
import type { Exhaustion, KnownWindow, StoredQuota } from './quota-evidence.ts';

export interface WindowStatus {
  readonly class: WindowClass;
  readonly seconds: number;
  readonly used_percent: number;
  /** Unix seconds. */
  readonly resets_at: number | null;
  readonly source: QuotaSource;
  /** Unix milliseconds at which it was stated. */
  readonly stated_at: number;
}

export interface QuotaStatus {
  readonly account: string;
  /** `unknown`: there is no evidence younger than 15 minutes. Such an account is eligible. */
  readonly status: 'available' | 'reserved' | 'exhausted' | 'unknown';
  /** Unix milliseconds at which an exhausted or reserved account is eligible again, if that is known. */
  readonly until: number | null;
  readonly windows: readonly WindowStatus[];
}

export function quotaStatus(account: string, quota: AccountQuota, now: number): QuotaStatus {
  const { exhausted, reserved, remaining } = quota.stateAt(now);
  const eligible = remaining === undefined ? 'unknown' : 'available';
  return {
    account,
    status: exhausted ? 'exhausted' : reserved ? 'reserved' : eligible,
    until: (exhausted ?? reserved)?.until ?? null,
    windows: quota.currentWindows(now).map((window) => ({
      class: classOf(window),
      seconds: window.seconds,
      used_percent: window.used,
      resets_at: window.resetsAt ?? null,
      source: window.source,
      stated_at: window.at,
    })),
  };
}

const SOURCES: ReadonlySet<unknown> = new Set<QuotaSource>(['event', 'headers', 'read']);

/** A row from further in the future is ignored, because the clock was set back or the row is not the gateway's. */
const SKEW_MS = 60_000;

/** Whether a write would change nothing that matters. Whole percents and resets matter, the time of the last statement does not. */
export function isSameQuota(a: StoredQuota, b: StoredQuota): boolean {
  if (a.windows.length !== b.windows.length || a.spent?.until !== b.spent?.until || a.recovered !== b.recovered) return false;
  return a.windows.every((window, index) => {
    const other = b.windows[index];
    return other?.seconds === window.seconds && other.resetsAt === window.resetsAt && Math.floor(other.used) === Math.floor(window.used);
  });
}

/** Reads the JSON in the `windows` column of an account's row. Members of the wrong shape are ignored. */
export function storedQuotaIn(column: object | null, now: number): StoredQuota | undefined {
  if (!column || !('windows' in column) || !Array.isArray(column.windows)) return undefined;
  const spent = 'spent' in column ? column.spent : null;
  const recovered = 'recovered' in column ? column.recovered : null;
  return {
    windows: column.windows.filter((window): window is KnownWindow => isWindow(window, now)),
    spent: isExhaustion(spent, now) ? spent : null,
    recovered: isTime(recovered, now) ? recovered : null,
  };
}

function isWindow(value: unknown, now: number): value is KnownWindow {
  if (typeof value !== 'object' || value === null) return false;
  const { seconds, used, at, source, resetsAt } = value as Partial<Record<keyof KnownWindow, unknown>>;
  return isNumber(seconds) && isNumber(used) && isTime(at, now) && SOURCES.has(source) && (resetsAt === undefined || isNumber(resetsAt));
}

function isExhaustion(value: unknown, now: number): value is Exhaustion {
  if (typeof value !== 'object' || value === null) return false;
  const { at, until, source } = value as Partial<Record<keyof Exhaustion, unknown>>;
  return isTime(at, now) && SOURCES.has(source) && (until === undefined || isNumber(until));
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const isTime = (value: unknown, now: number): value is number => isNumber(value) && value <= now + SKEW_MS;
