// The quota of a simulated account in the provider's three forms: response headers, the usage read, and the rate_limits event.
import type { JsonObject } from '../../turn/json/json.ts';
import type { SimulatedQuota, SimulatedQuotaWindow } from './account-profiles.ts';
import type { SimulatedAccount } from './simulated-account.ts';

const PLAN_TYPE = 'plus';

/** A window with its reset time. */
interface TimedWindow {
  readonly used_percent: number;
  readonly window_minutes: number;
  readonly reset_at: number;
}

interface TimedQuota {
  readonly primary: TimedWindow | null;
  readonly secondary: TimedWindow | null;
}

/** Rises by one percent every second turn, so that a demonstration shows how selection follows quota; stops at 60 %. */
function fillingQuota(turns: number): SimulatedQuota {
  return {
    primary: { used_percent: Math.min(60, 10 + turns / 2), window_minutes: 300 },
    secondary: { used_percent: 3, window_minutes: 10_080 },
  };
}

function quotaOf(account: SimulatedAccount, now: number): TimedQuota {
  const quota = account.settings.quota ?? account.settings.profile?.quota ?? fillingQuota(account.turns);
  return { primary: timed(quota.primary, now), secondary: timed(quota.secondary, now) };
}

function timed(window: SimulatedQuotaWindow | null, now: number): TimedWindow | null {
  if (window === null) return null;
  const seconds = window.window_minutes * 60;
  // Windows are counted from the epoch, so that the reset stays the same during a window without stored state.
  return { reset_at: (Math.floor(now / 1000 / seconds) + 1) * seconds, ...window };
}

const isSpent = (window: TimedWindow | null): boolean => window !== null && window.used_percent >= 100;

/** The `x-<agent>-primary-…` and `-secondary-…` response headers. */
export function quotaHeaders(account: SimulatedAccount, agent: string, now: number): Readonly<Record<string, string>> {
  const quota = quotaOf(account, now);
  const headers: Record<string, string> = {};
  const { wholeQuota } = account.manners;
  for (const slot of ['primary', 'secondary'] as const) {
    const window = quota[slot] ?? (wholeQuota ? ABSENT : null);
    if (window === null) continue;
    headers[`x-${agent}-${slot}-used-percent`] = String(window.used_percent);
    headers[`x-${agent}-${slot}-window-minutes`] = String(window.window_minutes);
    headers[`x-${agent}-${slot}-reset-at`] = String(window.reset_at);
    if (wholeQuota) headers[`x-${agent}-${slot}-reset-after-seconds`] = String(secondsTo(window, now));
  }
  return wholeQuota ? { ...headers, ...besideWindows(agent, now) } : headers;
}

/** The values of headers that state no such window. */
const ABSENT = { used_percent: 0, window_minutes: 0, reset_at: '' } as const;

const secondsTo = ({ reset_at }: { readonly reset_at: number | '' }, now: number): number =>
  reset_at === '' ? 0 : Math.max(0, Math.ceil(reset_at - now / 1000));

/** What the headers state in addition to the account's windows: the plan, the credits, and the used-up limit of a single model. */
const besideWindows = (agent: string, now: number): Readonly<Record<string, string>> => ({
  [`x-${agent}-plan-type`]: PLAN_TYPE,
  [`x-${agent}-active-limit`]: agent,
  [`x-${agent}-credits-has-credits`]: 'false',
  [`x-${agent}-credits-unlimited`]: 'false',
  [`x-${agent}-credits-balance`]: '0',
  [`x-${agent}-primary-over-secondary-limit-percent`]: '0',
  [`x-${agent}-preview-limit-name`]: MODEL_LIMIT,
  [`x-${agent}-preview-primary-used-percent`]: '100',
  [`x-${agent}-preview-primary-window-minutes`]: '77',
  [`x-${agent}-preview-primary-reset-at`]: String(Math.floor(now / 1000) + 3_600),
});

/** The name of the limit of one model. The limit is used up, and does not affect other models. */
const MODEL_LIMIT = 'Rehearsal-Preview';

/** The `<agent>.rate_limits` event. */
export function quotaEvent(account: SimulatedAccount, agent: string, now: number): JsonObject {
  const { primary, secondary } = quotaOf(account, now);
  const reached = isSpent(primary) || isSpent(secondary);
  return {
    type: `${agent}.rate_limits`,
    plan_type: PLAN_TYPE,
    rate_limits: {
      allowed: !reached,
      limit_reached: reached,
      primary: primary && { ...primary },
      secondary: secondary && { ...secondary },
    },
    credits: { has_credits: false, unlimited: false, balance: null },
  };
}

/** The body of the usage read. All numbers are integers. */
export function usageRead(account: SimulatedAccount, now: number): JsonObject {
  const { primary, secondary } = quotaOf(account, now);
  const reached = isSpent(primary) || isSpent(secondary);
  return {
    plan_type: PLAN_TYPE,
    rate_limit: {
      allowed: !reached,
      limit_reached: reached,
      primary_window: primary && usageWindow(primary, now),
      secondary_window: secondary && usageWindow(secondary, now),
    },
    ...(account.manners.wholeQuota ? ownersUsage(account) : { credits: { has_credits: false, unlimited: false, balance: null } }),
  };
}

/** What the usage read contains in addition to the windows. It names the owner, so no client may see it. */
function ownersUsage(account: SimulatedAccount): JsonObject {
  const spent = { used_percent: 100, limit_window_seconds: 4_620, reset_after_seconds: 60 };
  return {
    user_id: account.bind('user', 'rehearsal'),
    email: `${account.tag}@rehearsal.example`,
    additional_rate_limits: [
      {
        limit_name: MODEL_LIMIT,
        metered_feature: 'preview',
        rate_limit: { allowed: false, limit_reached: true, primary_window: spent, secondary_window: null },
      },
    ],
    credits: { has_credits: false, unlimited: false, balance: '0' },
    spend_control: { reached: false },
    rate_limit_reached_type: null,
  };
}

function usageWindow(window: TimedWindow, now: number): JsonObject {
  return {
    used_percent: Math.round(window.used_percent),
    limit_window_seconds: window.window_minutes * 60,
    reset_after_seconds: secondsTo(window, now),
    reset_at: window.reset_at,
  };
}
