// What every reader of a reply works with, and how an attempt ends.
import type { Counters } from '../metrics.ts';
import type { Failure } from '../turn/failure.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { Refusal } from '../turn/refusal.ts';
import type { Sending } from '../upstream/carrier.ts';
import type { Evidence } from './reply-observers.ts';

/** How an attempt ended: the client has its answer, or nothing was shown and this is why. */
export type Verdict =
  /** With what went wrong at the account all the same: a failure that was passed on, or a reply that broke off. */
  | { readonly kind: 'done'; readonly failure?: Failure }
  | { readonly kind: 'failed'; readonly failure: Failure }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly failure?: Failure };

/** What every reader of a reply works with. */
export interface ReplyContext {
  readonly turn: LiveTurn;
  readonly counters: Counters;
  readonly sending: () => Sending;
  /** Whether the turn would be tried again after this failure. */
  readonly retries: (failure: Failure) => boolean;
  /** The reply is the turn's answer: from here on nothing is tried again. */
  readonly committed: () => void;
  readonly evidence: Evidence;
  readonly settle: (verdict: Verdict) => void;
}
