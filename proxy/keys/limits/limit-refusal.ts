// The refusals of a key's limits: how long the client has to wait, and whether it may retry (Q1, Q19).
import { LONGEST_RETRY_AFTER_MS, Refusal, type RefusalDetails } from '../../turn/errors/refusal.ts';
import { dollars } from '../usage-totals.ts';
import { type Limit, limitText } from './limit-kinds.ts';

/** Native clients do not retry an error of this type. They show `resets_at` to their user. */
const FINAL = { type: 'usage_limit_reached', final: true } as const;

/** The refusal of a turn that would not fit into an empty window. @param needed tokens, or billionths of a dollar */
export function limitTooSmall(limit: Limit, needed: number): Refusal {
  const amount = limit.type === 'usd' ? `${dollars(needed)} US dollars` : `${needed} tokens`;
  const message = `This request needs about ${amount}, which never fits the limit of this API key: ${limitText(limit)}.`;
  return new Refusal('rate_limit_exceeded', { ...FINAL, message });
}

/** When a limit has room again. Times are in milliseconds. */
export interface LimitWait {
  /** Unix time; undefined if running turns must end first. */
  readonly end: number | undefined;
  readonly wait: number;
}

/**
 * The refusal of a limit that has no room now. Limits of a day, of a week and of dollars are final, because clients must not sleep until
 * midnight inside a call.
 */
export function limitReached(limit: Limit, { end, wait }: LimitWait): Refusal {
  const seconds = Math.ceil(wait / 1000);
  const message = `The limit of this API key is reached: ${limitText(limit)}.`;
  if (limit.type !== 'usd' && limit.window !== 'day' && limit.window !== 'week' && limit.window !== 'month') {
    return cached(limit, `${seconds}`, () => ({ message: `${message} Try again in ${seconds} s.`, retryAfterMs: wait }));
  }
  if (end === undefined) return cached(limit, '', () => ({ ...FINAL, message }));
  // A longer wait than a minute is not stated.
  return cached(limit, `${end} ${wait > LONGEST_RETRY_AFTER_MS ? '' : seconds}`, () => {
    const resets = new Date(end).toISOString().replace('.000Z', 'Z');
    return { ...FINAL, message: `${message} It resets at ${resets}.`, resetsAt: Math.ceil(end / 1000), retryAfterMs: wait };
  });
}

/**
 * The last refusal of each limit. It is cached because clients of an exhausted key ask often, and its content changes at most once a
 * second.
 */
const lastRefusals = new WeakMap<Limit, { readonly content: string; readonly refusal: Refusal }>();

function cached(limit: Limit, content: string, details: () => RefusalDetails): Refusal {
  const last = lastRefusals.get(limit);
  if (last?.content === content) return last.refusal;
  const refusal = new Refusal('rate_limit_exceeded', details());
  lastRefusals.set(limit, { content, refusal });
  return refusal;
}
