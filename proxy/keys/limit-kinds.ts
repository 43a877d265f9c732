// The limits that a key may have: what each counts, over which time, and how it is called (Q19, Q20).
import type { KeyLimits } from '../turn/settings.ts';

export type LimitType = 'requests' | 'tokens' | 'usd' | 'concurrent';
export type LimitWindow = 'minute' | 'day' | 'week' | 'now';

export interface LimitKind {
  readonly name: keyof KeyLimits;
  readonly type: LimitType;
  readonly window: LimitWindow;
}

/** In the order in which they are listed. */
export const LIMIT_KINDS: readonly LimitKind[] = [
  { name: 'requests_per_minute', type: 'requests', window: 'minute' },
  { name: 'requests_per_day', type: 'requests', window: 'day' },
  { name: 'tokens_per_minute', type: 'tokens', window: 'minute' },
  { name: 'tokens_per_day', type: 'tokens', window: 'day' },
  { name: 'tokens_per_week', type: 'tokens', window: 'week' },
  { name: 'usd_per_day', type: 'usd', window: 'day' },
  { name: 'usd_per_week', type: 'usd', window: 'week' },
  { name: 'concurrent', type: 'concurrent', window: 'now' },
];

/** A limit that the configuration sets. */
export interface Limit extends LimitKind {
  readonly max: number;
}

/** The limits of one key, and what must be known of its turns because of them. */
export interface LimitSet {
  readonly limits: readonly Limit[];
  /** Some of them need to know what a turn will cost. */
  readonly costly: boolean;
  readonly minuteRequests: boolean;
  readonly minuteTokens: boolean;
}

/** By the configuration's own object: asked for every turn. */
const sets = new WeakMap<KeyLimits, LimitSet>();

export function limitsOf(limits: KeyLimits): LimitSet {
  const known = sets.get(limits);
  if (known) return known;
  const own = LIMIT_KINDS.flatMap((kind) => {
    const max = limits[kind.name];
    return max === undefined ? [] : [{ ...kind, max }];
  });
  const made: LimitSet = {
    limits: own,
    costly: own.some(({ type }) => type === 'tokens' || type === 'usd'),
    minuteRequests: own.some(({ name }) => name === 'requests_per_minute'),
    minuteTokens: own.some(({ name }) => name === 'tokens_per_minute'),
  };
  sets.set(limits, made);
  return made;
}

/** Names the limit and its window (Q2). */
export function sentenceOf({ name, type, window, max }: Limit): string {
  if (type === 'concurrent') return `This API key may run ${max} requests at once (${name}).`;
  const what = type === 'usd' ? `${max} US dollars` : `${max} ${type}`;
  return `The limit of this API key is reached: ${what} per ${window} (${name}).`;
}
