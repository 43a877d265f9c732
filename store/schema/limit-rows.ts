// The values of key limits that all nodes share: reservations, settlements, and the use of a key (Q34). Times are Unix milliseconds.
import type { LoggedRequest } from './logged-rows.ts';
import type { UsageRow } from './rows.ts';

/** What a turn reserves. The cap of a tier is counted like a key of its own (AA69). */
export interface LimitedTurn {
  /** Unique. A second reservation with the same id is granted and reserves nothing again. */
  readonly grant: string;
  readonly key: string;
  /** The token of the node's lease. The reservation counts until it is settled or that lease ends. */
  readonly node: number;
  readonly tokens: number;
  readonly cost_nanos: number;
  /** How long the turn waits for its reservation, in milliseconds. SQLite always answers at once. */
  readonly wait_ms: number;
}

/** The most that a key may use, including this turn. An absent bound is no limit. */
export interface LimitBounds {
  readonly concurrent?: number;
  readonly requests_per_minute?: number;
  readonly requests_per_day?: number;
  readonly tokens_per_minute?: number;
  readonly tokens_per_day?: number;
  readonly tokens_per_week?: number;
  readonly nanos_per_day?: number;
  readonly nanos_per_week?: number;
  /** Cost in a UTC month. */
  readonly nanos_per_month?: number;
}

export interface UsedAmounts {
  readonly requests: number;
  readonly tokens: number;
  readonly cost_nanos: number;
}

/** The use of one key by all nodes. */
export interface StoredUse {
  /** The sums of turns that have reserved and have not been settled. */
  readonly running: UsedAmounts;
  /** Use in the last minute, by slots of `SLOT_MS`, oldest first. Requests count from their reservation, tokens from their settlement. */
  readonly minute: readonly (Omit<UsedAmounts, 'cost_nanos'> & { readonly slot: number })[];
  /** The settled use of the last seven UTC days, and of the days of the UTC month, oldest first. */
  readonly days: readonly (UsedAmounts & { readonly day: number })[];
}

export type Taken =
  | { readonly outcome: 'granted' }
  /** A limit had no room: nothing was reserved. */
  | { readonly outcome: 'refused'; readonly use: StoredUse }
  /** The node's lease has expired: nothing was reserved, and the node's reservations no longer count. */
  | { readonly outcome: 'lost' }
  /** The answer was lost: the reservation may have been made, and has to be withdrawn. */
  | { readonly outcome: 'unknown' };

/** The end of a reservation. */
export interface Settlement {
  readonly grant: string;
  readonly key: string;
  /** Undefined if the turn was never sent to an account: it used nothing. */
  readonly used: UsageRow | undefined;
  readonly at: number;
  /** The request that used it: its rows are written in the same transaction. */
  readonly of?: LoggedRequest | undefined;
  /** Whether the key has a per-minute limit. */
  readonly minute: boolean;
  /** Set if the answer to the reservation was lost: the reservation is withdrawn if it was made, and refused if it arrives later. */
  readonly withdrawn?: true;
}

/**
 * The width of the slots of the last minute. A slot is named by its end, and its amounts count for a minute from there. So an amount counts
 * up to one slot longer than a minute, and never shorter. A key has at most 241 slots at a time.
 */
const SLOT_MS = 250;

export const slotOf = (at: number): number => Math.ceil(at / SLOT_MS) * SLOT_MS;

/** At the time `at`, slots greater than this count. */
export const slotsAfter = (at: number): number => at - 60_000;

export const DAY_MS = 86_400_000;

/** The first of the seven UTC days that end with the day of `at`. */
export const weekStart = (at: number): number => at - (at % DAY_MS) - 6 * DAY_MS;

/** The first day of the UTC month of `at`. */
export function monthStart(at: number): number {
  const date = new Date(at);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
}

/** The first of the days whose use is read. */
export const daysFrom = (at: number): number => Math.min(weekStart(at), monthStart(at));

/** Older slots are deleted with the next settlement of their key. */
export const SLOTS_KEPT_MS = 120_000;

/** How long unsettled reservations are kept whose node has ended. They no longer count. */
export const GRANTS_KEPT_MS = 8 * DAY_MS;
