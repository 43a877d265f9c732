// An account's quota as its provider tells it: response headers, the usage read, and the event of websockets and chatty streams.
import type { JsonObject } from '../turn/json.ts';
import type { Account, Quota, QuotaWindow } from './account.ts';

const planType = 'plus';

interface KnownWindow {
  readonly used_percent: number;
  readonly window_minutes: number;
  readonly reset_at: number;
}

interface KnownQuota {
  readonly primary: KnownWindow | null;
  readonly secondary: KnownWindow | null;
}

/** Fills by one percent every second turn, so that a newcomer sees that selection follows quota; never so far that it matters. */
function fillingQuota(turns: number): Quota {
  return {
    primary: { used_percent: Math.min(60, 10 + turns / 2), window_minutes: 300 },
    secondary: { used_percent: 3, window_minutes: 10_080 },
  };
}

function quotaOf(account: Account, now: number): KnownQuota {
  const quota = account.config.quota ?? account.config.temperament?.quota ?? fillingQuota(account.turns);
  return { primary: known(quota.primary, now), secondary: known(quota.secondary, now) };
}

function known(window: QuotaWindow | null, now: number): KnownWindow | null {
  if (window === null) return null;
  const seconds = window.window_minutes * 60;
  // Windows are reckoned from the epoch: the same reset for the whole window, without remembering when it began.
  return { reset_at: (Math.floor(now / 1000 / seconds) + 1) * seconds, ...window };
}

const isSpent = (window: KnownWindow | null): boolean => window !== null && window.used_percent >= 100;

/** The `x-<agent>-primary-…` and `-secondary-…` response headers. */
export function quotaHeaders(account: Account, agent: string, now: number): Readonly<Record<string, string>> {
  const quota = quotaOf(account, now);
  const headers: Record<string, string> = {};
  for (const slot of ['primary', 'secondary'] as const) {
    const window = quota[slot];
    if (window === null) continue;
    headers[`x-${agent}-${slot}-used-percent`] = String(window.used_percent);
    headers[`x-${agent}-${slot}-window-minutes`] = String(window.window_minutes);
    headers[`x-${agent}-${slot}-reset-at`] = String(window.reset_at);
  }
  return headers;
}

/** The `<agent>.rate_limits` event. */
export function quotaEvent(account: Account, agent: string, now: number): JsonObject {
  const { primary, secondary } = quotaOf(account, now);
  const reached = isSpent(primary) || isSpent(secondary);
  return {
    type: `${agent}.rate_limits`,
    plan_type: planType,
    rate_limits: {
      allowed: !reached,
      limit_reached: reached,
      primary: primary && { ...primary },
      secondary: secondary && { ...secondary },
    },
    credits: { has_credits: false, unlimited: false, balance: null },
  };
}

/** The body of the usage read; integers only. */
export function usageRead(account: Account, now: number): JsonObject {
  const { primary, secondary } = quotaOf(account, now);
  const reached = isSpent(primary) || isSpent(secondary);
  return {
    plan_type: planType,
    rate_limit: {
      allowed: !reached,
      limit_reached: reached,
      primary_window: primary && usageWindow(primary, now),
      secondary_window: secondary && usageWindow(secondary, now),
    },
    credits: { has_credits: false, unlimited: false, balance: null },
  };
}

function usageWindow(window: KnownWindow, now: number): JsonObject {
  return {
    used_percent: Math.round(window.used_percent),
    limit_window_seconds: window.window_minutes * 60,
    reset_after_seconds: Math.max(0, Math.ceil(window.reset_at - now / 1000)),
    reset_at: window.reset_at,
  };
}
