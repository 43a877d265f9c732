// What a restart must not forget of an account's quota: its shape in the store, and what of it may be taken back.
import type { AccountQuota, KnownWindow, Spent } from './account-quota.ts';
import type { Source } from './quota-statement.ts';

export interface Kept {
  readonly windows: readonly KnownWindow[];
  readonly spent: Spent | null;
}

const SOURCES: ReadonlySet<unknown> = new Set<Source>(['event', 'headers', 'read']);

/** A moment in the future is none: the clock was set back since, or the row is not ours. */
const SKEW_MS = 60_000;

export const keptOf = ({ windows, spent }: AccountQuota): Kept => ({ windows, spent: spent ?? null });

/** Whether a restart would know as much by the one as by the other: whole percents and ends, not when they were last repeated. */
export function sameKept(a: Kept, b: Kept): boolean {
  if (a.windows.length !== b.windows.length || a.spent?.until !== b.spent?.until) return false;
  return a.windows.every((window, index) => {
    const other = b.windows[index];
    return other?.seconds === window.seconds && other.resetsAt === window.resetsAt && Math.floor(other.used) === Math.floor(window.used);
  });
}

/** Takes back what an earlier process kept, as far as it is what it should be. */
export function restored(quota: AccountQuota, kept: object | null, now: number): void {
  if (!kept || !('windows' in kept) || !Array.isArray(kept.windows)) return;
  const windows = kept.windows.filter((window): window is KnownWindow => isWindow(window, now));
  quota.restore(windows, 'spent' in kept && isSpent(kept.spent, now) ? kept.spent : undefined);
}

function isWindow(value: unknown, now: number): value is KnownWindow {
  if (typeof value !== 'object' || value === null) return false;
  const { seconds, used, at, source, resetsAt } = value as Partial<Record<keyof KnownWindow, unknown>>;
  return isNumber(seconds) && isNumber(used) && isMoment(at, now) && SOURCES.has(source) && (resetsAt === undefined || isNumber(resetsAt));
}

function isSpent(value: unknown, now: number): value is Spent {
  if (typeof value !== 'object' || value === null) return false;
  const { at, until, source } = value as Partial<Record<keyof Spent, unknown>>;
  return isMoment(at, now) && SOURCES.has(source) && (until === undefined || isNumber(until));
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0;

const isMoment = (value: unknown, now: number): value is number => isNumber(value) && value <= now + SKEW_MS;
