// What a provider states of an account's quota, in the three forms that it has for it; numbers that cannot be true are not taken (Q8).

import type { Json, JsonObject } from '../../turn/json.ts';
import type { Headers } from '../../turn/turn.ts';
import type { QuotaWindow } from './quota-window.ts';

/** In falling order of trust: an `<agent>.rate_limits` event, an answer's headers, our own usage read. */
export type Source = 'event' | 'headers' | 'read';

export interface Statement {
  readonly source: Source;
  /** Every window that the account has, as far as its provider says. */
  readonly windows: readonly QuotaWindow[];
  /** True: it takes no more turns. False: it takes them. Undefined: nothing was said. */
  readonly reached: boolean | undefined;
}

/** What one slot holds, before anything of it is believed. */
interface Slot {
  readonly used: number | undefined;
  readonly seconds: number | undefined;
  /** Unix seconds. */
  readonly at: number | undefined;
  /** Seconds from now. */
  readonly after: number | undefined;
}

const SLOTS = ['primary', 'secondary'] as const;

interface HeaderNames {
  readonly used: string;
  readonly minutes: string;
  readonly at: string;
  readonly after: string;
}

/** By wire word: looked up in the head of every answer. */
const headerNames = new Map<string, readonly HeaderNames[]>();

function namesOf(agent: string): readonly HeaderNames[] {
  const known = headerNames.get(agent);
  if (known) return known;
  const made = SLOTS.map((slot) => {
    const name = `x-${agent}-${slot}`;
    return {
      used: `${name}-used-percent`,
      minutes: `${name}-window-minutes`,
      at: `${name}-reset-at`,
      after: `${name}-reset-after-seconds`,
    };
  });
  headerNames.set(agent, made);
  return made;
}

/** Providers count a little past the end; what is further out is no percentage. */
const MOST_PERCENT = 1_000;
const LONGEST_SECONDS = 400 * 86_400;
const MONTH_SECONDS = 31 * 86_400;
/** How far two clocks may be apart before a reset time is none. */
const SKEW_SECONDS = 3_600;

/**
 * The `x-<agent>-{primary,secondary}-…` headers of an answer.
 * @param now Unix milliseconds
 */
export function statedByHeaders(headers: Headers, agent: string, status: number, now: number): Statement | undefined {
  const windows: QuotaWindow[] = [];
  for (const names of namesOf(agent)) {
    const minutes = decimal(headers[names.minutes]);
    if (minutes === undefined) continue;
    const slot = { used: decimal(headers[names.used]), at: decimal(headers[names.at]), after: decimal(headers[names.after]) };
    windows.push(...windowOf({ ...slot, seconds: minutes * 60 }, now));
  }
  return windows.length > 0 ? { source: 'headers', windows, reached: status < 300 ? false : undefined } : undefined;
}

/** The data of an `<agent>.rate_limits` event. */
export function statedByEvent(data: JsonObject, now: number): Statement | undefined {
  const limits = object(data.rate_limits);
  if (!limits) return undefined;
  const windows = SLOTS.flatMap((name) => {
    const slot = object(limits[name]);
    if (!slot) return [];
    const minutes = number(slot.window_minutes);
    return windowOf({ ...fieldsOf(slot), seconds: minutes === undefined ? undefined : minutes * 60 }, now);
  });
  const reached = reachedBy(limits) ?? (windows.length > 0 ? false : undefined);
  return windows.length > 0 || reached !== undefined ? { source: 'event', windows, reached } : undefined;
}

/** The body of the account's usage read. */
export function statedByRead(body: unknown, now: number): Statement | undefined {
  const limit = object(object(body as Json)?.rate_limit);
  if (!limit) return undefined;
  const windows = SLOTS.flatMap((name) => {
    const slot = object(limit[`${name}_window`]);
    return slot ? windowOf({ ...fieldsOf(slot), seconds: number(slot.limit_window_seconds) }, now) : [];
  });
  return { source: 'read', windows, reached: reachedBy(limit) };
}

/**
 * The reset that a refusal states, as a time or as seconds from now, where it can be true: Unix seconds. Of which window it is a
 * refusal does not say.
 */
export function resetStated({ at, after }: Pick<Slot, 'at' | 'after'>, now: number): number | undefined {
  return possibleReset({ at, after, seconds: MONTH_SECONDS }, now);
}

function fieldsOf(slot: JsonObject): Omit<Slot, 'seconds'> {
  return {
    used: number(slot.used_percent),
    at: number(slot.reset_at) ?? number(slot.resets_at),
    after: number(slot.reset_after_seconds) ?? number(slot.resets_in_seconds),
  };
}

function reachedBy(limit: JsonObject): boolean | undefined {
  if (limit.limit_reached === true || limit.allowed === false) return true;
  return limit.limit_reached === false || limit.allowed === true ? false : undefined;
}

/** None where the length or the share is missing or absurd; a reset that cannot be true is left out of it. */
function windowOf({ used, seconds, at, after }: Slot, now: number): readonly QuotaWindow[] {
  if (used === undefined || used < 0 || used > MOST_PERCENT) return [];
  if (seconds === undefined || seconds <= 0 || seconds > LONGEST_SECONDS) return [];
  return [{ seconds: Math.round(seconds), used: Math.min(100, used), resetsAt: possibleReset({ at, after, seconds }, now) }];
}

/** Where the provider's clock is wrong, what it reckons from now still holds. */
function possibleReset({ at, after, seconds }: Pick<Slot, 'at' | 'after'> & { readonly seconds: number }, now: number): number | undefined {
  const stated = [at, after === undefined ? undefined : now / 1000 + after].filter((reset) => reset !== undefined);
  const possible = stated.filter((reset) => isReset(reset, seconds, now)).map(Math.ceil);
  return possible.find((reset) => reset * 1000 > now) ?? possible[0];
}

const isReset = (at: number, seconds: number, now: number): boolean => {
  const ahead = at - now / 1000;
  return ahead <= seconds + SKEW_SECONDS && ahead >= -seconds;
};

const object = (value: Json | undefined): JsonObject | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;

const number = (value: Json | undefined): number | undefined => (typeof value === 'number' && Number.isFinite(value) ? value : undefined);

/** A header that came twice is joined by a comma, and so is no number. */
const decimal = (value: string | undefined): number | undefined =>
  value !== undefined && /^\s*\d{1,15}(\.\d{1,15})?\s*$/.test(value) ? Number(value) : undefined;
