// What distinguishes the kinds of pins: how long they are valid, whether a turn must follow them, and how often their values are new.
import { DAY_MS } from '../../base/time/utc-days.ts';
import type { PinKind } from '../../turn/continuation.ts';

const HOUR_MS = 3_600_000;

export interface PinLifetime {
  /** How long a pin is valid after it was set. */
  readonly ttlMs: number;
  /** The age from which setting the pin again writes it again. */
  readonly renewAfterMs: number;
}

const DAY: PinLifetime = { ttlMs: DAY_MS, renewAfterMs: DAY_MS / 2 };
const HOUR: PinLifetime = { ttlMs: HOUR_MS, renewAfterMs: HOUR_MS / 60 };

export const LIFETIMES: Readonly<Record<PinKind, PinLifetime>> = {
  response: DAY,
  header: DAY,
  turn_state: DAY,
  ciphertext: DAY,
  cache_key: HOUR,
  conversation: HOUR,
  overflow: HOUR,
};

/** Kinds of which many turns have new values: sessions and conversations. */
export const OFTEN_NEW: ReadonlySet<PinKind> = new Set<PinKind>(['header', 'cache_key', 'conversation', 'overflow']);

/** Kinds that a turn should follow but need not (Q10, Q11). */
export const SOFT: ReadonlySet<PinKind> = new Set<PinKind>(['header', 'ciphertext', 'cache_key', 'conversation', 'overflow']);
