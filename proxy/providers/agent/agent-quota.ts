// Reads the quota of an account of an agent backend in the three forms that state it. Impossible numbers are ignored (Q8).
import { LASTING_LIMITS } from '../../turn/errors/error-codes.ts';
import { resetTime, type StatedReset } from '../../turn/errors/quota-reset.ts';
import { asNumber, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import type { QuotaStatement, QuotaWindow } from '../../turn/provider/quota-statement.ts';
import type { ProviderQuota } from '../../turn/provider/reads.ts';
import type { Headers } from '../../turn/turn.ts';
import { perAgent } from '../../turn/wire/agent-names.ts';

export const agentQuota: ProviderQuota = {
  eventTypes: ({ agent }) => [`${agent}.rate_limits`],
  fromHeaders: (headers, { status, wire, now }) => quotaFromHeaders(headers, wire.agent, status, now),
  fromEvent: quotaFromEvent,
  usage: { read: (get, { wire: { meter } }) => get(`/backend-api/${meter}/usage`), parse: quotaFromUsageRead },
};

/** The fields of one window before validation. */
interface StatedWindow extends StatedReset {
  readonly used: number | undefined;
  readonly seconds: number | undefined;
}

const SLOTS = ['primary', 'secondary'] as const;

/** The largest number that counts as a percentage. Providers report slightly more than 100. */
const LARGEST_PERCENT = 1_000;
const LONGEST_SECONDS = 400 * 86_400;

interface HeaderNames {
  readonly used: string;
  readonly minutes: string;
  readonly at: string;
  readonly after: string;
}

const headerNames = perAgent((agent): readonly HeaderNames[] =>
  SLOTS.map((slot) => {
    const name = `x-${agent}-${slot}`;
    return {
      used: `${name}-used-percent`,
      minutes: `${name}-window-minutes`,
      at: `${name}-reset-at`,
      after: `${name}-reset-after-seconds`,
    };
  }),
);

/** Reads the `x-<agent>-{primary,secondary}-…` headers of a reply. @param now Unix milliseconds */
export function quotaFromHeaders(headers: Headers, agent: string, status: number, now: number): QuotaStatement | undefined {
  const windows: QuotaWindow[] = [];
  for (const names of headerNames(agent)) {
    const minutes = decimal(headers[names.minutes]);
    if (minutes === undefined) continue;
    const reset = { at: decimal(headers[names.at]), after: decimal(headers[names.after]) };
    windows.push(...validWindow({ ...reset, used: decimal(headers[names.used]), seconds: minutes * 60 }, now));
  }
  return windows.length > 0 ? { source: 'headers', windows, reached: status < 300 ? false : undefined } : undefined;
}

/** Reads the data of an `<agent>.rate_limits` event. @param now Unix milliseconds */
export function quotaFromEvent(data: JsonObject, now: number): QuotaStatement | undefined {
  const limits = object(data.rate_limits);
  if (!limits) return undefined;
  const windows = SLOTS.flatMap((name) => {
    const slot = object(limits[name]);
    if (!slot) return [];
    const minutes = asNumber(slot.window_minutes);
    return validWindow({ ...usedAndReset(slot), seconds: minutes === undefined ? undefined : minutes * 60 }, now);
  });
  const reached = reachedIn(limits) ?? (windows.length > 0 ? false : undefined);
  return windows.length > 0 || reached !== undefined ? { source: 'event', windows, reached } : undefined;
}

/** Reads the body of the account's usage read. @param now Unix milliseconds */
export function quotaFromUsageRead(body: unknown, now: number): QuotaStatement | undefined {
  const read = object(body as Json);
  const limit = object(read?.rate_limit);
  if (!limit) return undefined;
  const windows = SLOTS.flatMap((name) => {
    const slot = object(limit[`${name}_window`]);
    return slot ? validWindow({ ...usedAndReset(slot), seconds: asNumber(slot.limit_window_seconds) }, now) : [];
  });
  return { source: 'read', windows, reached: statesLastingLimit(read?.rate_limit_reached_type) || reachedIn(limit) };
}

/**
 * Whether a workspace's limit is stated, which no window shows (RB23): `"rate_limit_reached_type": {"type":
 * "workspace_owner_credits_depleted"}`.
 */
function statesLastingLimit(stated: Json | undefined): boolean {
  const type = object(stated)?.type ?? stated;
  return typeof type === 'string' && LASTING_LIMITS.has(type);
}

function usedAndReset(slot: JsonObject): Omit<StatedWindow, 'seconds'> {
  return {
    used: asNumber(slot.used_percent),
    at: asNumber(slot.reset_at) ?? asNumber(slot.resets_at),
    after: asNumber(slot.reset_after_seconds) ?? asNumber(slot.resets_in_seconds),
  };
}

function reachedIn(limit: JsonObject): boolean | undefined {
  if (limit.limit_reached === true || limit.allowed === false) return true;
  return limit.limit_reached === false || limit.allowed === true ? false : undefined;
}

/** The window, or an empty list if its length or percentage is missing or impossible. An impossible reset is left out of the window. */
function validWindow({ used, seconds, at, after }: StatedWindow, now: number): readonly QuotaWindow[] {
  if (used === undefined || used < 0 || used > LARGEST_PERCENT) return [];
  if (seconds === undefined || seconds <= 0 || seconds > LONGEST_SECONDS) return [];
  return [{ seconds: Math.round(seconds), used: Math.min(100, used), resetsAt: resetTime({ at, after }, now, seconds) }];
}

const object = (value: Json | undefined): JsonObject | undefined => (isObject(value) ? value : undefined);

/** The number in a header. A header that came twice is joined with a comma, and is not a number. */
const decimal = (value: string | undefined): number | undefined =>
  value !== undefined && /^\s*\d{1,15}(\.\d{1,15})?\s*$/.test(value) ? Number(value) : undefined;
