// The kinds of limits that a key can have: what each counts, its window, and its name in the configuration (Q19, Q20).
import { oncePerObject } from '../../base/process/once-per-object.ts';
import type { KeyLimits } from '../../turn/settings.ts';

export type LimitType = 'requests' | 'tokens' | 'usd' | 'concurrent';
export type LimitWindow = 'minute' | 'day' | 'week' | 'month' | 'now';

/** What can be limited for a key, or for the tiers of a Pool (AA69). */
export interface CountedLimits extends KeyLimits {
  /** Cost in a UTC month. */
  readonly usd_per_month?: number;
}

export interface LimitKind {
  readonly name: keyof CountedLimits;
  readonly type: LimitType;
  readonly window: LimitWindow;
}

/** The kinds in the order of `GET /v1/usage`. */
const LIMIT_KINDS: readonly LimitKind[] = [
  { name: 'requests_per_minute', type: 'requests', window: 'minute' },
  { name: 'requests_per_day', type: 'requests', window: 'day' },
  { name: 'tokens_per_minute', type: 'tokens', window: 'minute' },
  { name: 'tokens_per_day', type: 'tokens', window: 'day' },
  { name: 'tokens_per_week', type: 'tokens', window: 'week' },
  { name: 'usd_per_day', type: 'usd', window: 'day' },
  { name: 'usd_per_week', type: 'usd', window: 'week' },
  { name: 'usd_per_month', type: 'usd', window: 'month' },
  { name: 'concurrent', type: 'concurrent', window: 'now' },
];

/** A configured limit. */
export interface Limit extends LimitKind {
  readonly max: number;
}

/** The limits of one key, and what they need to know of its turns. */
export interface LimitSet {
  readonly limits: readonly Limit[];
  /** Whether the usage of each turn has to be estimated, which a limit of tokens or dollars needs. */
  readonly needsEstimate: boolean;
  readonly minuteRequests: boolean;
  readonly minuteTokens: boolean;
}

export const limitsOf = oncePerObject((limits: CountedLimits): LimitSet => {
  const configured = LIMIT_KINDS.flatMap((kind) => {
    const max = limits[kind.name];
    return max === undefined ? [] : [{ ...kind, max }];
  });
  return {
    limits: configured,
    needsEstimate: configured.some(({ type }) => type === 'tokens' || type === 'usd'),
    minuteRequests: configured.some(({ name }) => name === 'requests_per_minute'),
    minuteTokens: configured.some(({ name }) => name === 'tokens_per_minute'),
  };
});

/** Names a limit with its window: `100000 tokens per minute (tokens_per_minute)`. */
export function limitText({ name, type, window, max }: Limit): string {
  if (type === 'concurrent') return `${max} concurrent requests (${name})`;
  return `${max} ${type === 'usd' ? 'US dollars' : type} per ${window} (${name})`;
}
