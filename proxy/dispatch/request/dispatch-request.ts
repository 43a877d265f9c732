// The request to dispatch, and its result.
import type { ExpectedUsage } from '../../turn/costs/spending.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { Attempts, Ending, TokenCounts } from '../../turn/reply/turn-result.ts';
import type { DispatchedKind } from '../../turn/routes/kinds.ts';
import type { RelayedAnswer } from '../../turn/surface.ts';
import type { Work } from '../../turn/turn.ts';
import type { Client, OpenUpload } from '../client.ts';
import type { CloseReply } from '../reply/reply-context.ts';

/**
 * `json`: read and edited by rules, and sent once per attempt. `stream`: passed on unread, so it can be sent only once; null for no
 * body.
 */
export type Payload = { readonly kind: 'json'; readonly work: Work } | { readonly kind: 'stream'; readonly open: OpenUpload | null };

export type DispatchedTurn = LiveTurn & { readonly kind: DispatchedKind };

export interface DispatchRequest {
  readonly turn: DispatchedTurn;
  readonly payload: Payload;
  readonly client: Client;
  readonly countOutput: (event: ReplyEvent) => void;
  /** The usage so far of a reply that is ended without its account (Q18). */
  readonly estimateUsage: () => TokenCounts | undefined;
  /** The expected usage. It is read only in Pools with tiers. */
  readonly expected: ExpectedUsage;
  /** The fallbacks of the turn's model, used if no account can serve the model. Absent if there are none (AA75). */
  readonly chain?: FallbackModels | undefined;
}

/** The turn in the form for another model. */
export type ChainedRequest = Pick<DispatchRequest, 'payload' | 'expected'>;

export interface FallbackModels {
  readonly hasNext: boolean;
  /** Prepares the turn as if its client had named the next model; undefined if none is left. */
  next(): Promise<ChainedRequest | undefined>;
  /** Remembers the present state of the turn. @returns a function that restores it */
  checkpoint(): () => void;
}

/** How the attempts ended: with a reply, with an account's refusal, or with a refusal of the gateway's own. */
export type DispatchEnd =
  | { readonly kind: 'ended'; readonly ending: Ending; readonly close?: CloseReply }
  | { readonly kind: 'relayed'; readonly answer: RelayedAnswer }
  | { readonly kind: 'refused'; readonly refusal: Refusal; readonly outcome?: Ending['outcome']['kind'] };

export interface Dispatched {
  readonly attempts: Attempts;
  readonly end: DispatchEnd;
}
