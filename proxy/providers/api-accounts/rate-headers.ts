// What API accounts state about their capacity: rate limits of models, in headers of several forms. They have no quota windows (AA39).
import { RATE_KINDS, type RateLimit } from '../../turn/provider/quota-statement.ts';
import type { ProviderQuota } from '../../turn/provider/reads.ts';
import type { Headers } from '../../turn/turn.ts';

/** A larger number is a time, in seconds or in milliseconds since the epoch. */
const [EPOCH_SECONDS, EPOCH_MILLISECONDS] = [1e9, 1e12];

const DECIMAL = /^\d{1,15}(?:\.\d{1,9})?$/;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The limits; undefined if none is stated. Impossible numbers are ignored. @param now Unix milliseconds */
export function rateLimits(headers: Headers, now: number): readonly RateLimit[] | undefined {
  const stated = RATE_KINDS.flatMap((kind) => {
    const [limit, remaining] = [numberIn(headers[`x-ratelimit-limit-${kind}`]), numberIn(headers[`x-ratelimit-remaining-${kind}`])];
    if (limit === undefined || remaining === undefined || limit === 0 || remaining > limit) return [];
    const reset = headers[`x-ratelimit-reset-${kind}`];
    const resetsAt = reset === undefined ? undefined : resetIn(reset.trim(), now);
    return reset !== undefined && resetsAt === undefined ? [] : [{ kind, left: remaining / limit, resetsAt }];
  });
  return stated.length > 0 ? stated : undefined;
}

const numberIn = (text: string | undefined): number | undefined =>
  text !== undefined && DECIMAL.test(text.trim()) ? Number(text) : undefined;

/** Unix milliseconds; undefined for a time that is past, zero or not valid. */
function resetIn(text: string, now: number): number | undefined {
  const at = DECIMAL.test(text) ? timeOf(Number(text), now) : durationIn(text, now);
  return at !== undefined && at > now ? Math.ceil(at) : undefined;
}

function timeOf(value: number, now: number): number {
  if (value >= EPOCH_MILLISECONDS) return value;
  return value >= EPOCH_SECONDS ? value * 1_000 : now + value * 1_000;
}

/** The end of a duration such as `6m0s`, `1.57s` or `20ms`, in Unix milliseconds. */
function durationIn(text: string, now: number): number | undefined {
  if (!/^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|[smhd]))+$/.test(text)) return undefined;
  let ms = 0;
  for (const [, value, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhd])/g)) ms += Number(value) * (UNITS[unit ?? ''] ?? 0);
  return now + ms;
}

export const apiQuota: ProviderQuota = {
  eventTypes: () => [],
  fromHeaders: () => undefined,
  fromEvent: () => undefined,
  rates: rateLimits,
};
