// A refusal at the beginning of a reply, before anything was shown. It is kept back for another attempt, or sent to the client (Q2, Q3,
// Q6).
import { loggedCode } from '../../../turn/errors/error-codes.ts';
import type { Failure } from '../../../turn/errors/failure.ts';
import { type Refusal, type RefusalEvent, RelayedRefusal } from '../../../turn/errors/refusal.ts';
import type { JsonObject } from '../../../turn/json/json.ts';
import type { Event } from '../../../turn/turn.ts';
import { collectedError } from '../../client-error.ts';
import type { ReplyContext, Verdict } from '../reply-context.ts';

/** The end of the attempt, or an event of its reply with the text that replaces the account's. */
export type HeadRefusal = { readonly verdict: Verdict } | { readonly verdict: undefined; readonly replacement: Event | undefined };

/** @param data the data of the event that refuses; undefined if it is not a JSON object */
export function headRefusal(data: JsonObject | undefined, context: ReplyContext): HeadRefusal {
  const { turn, known, provider } = context;
  const isWhole = turn.dispatchedKind?.reply === 'whole';
  const failure = data || isWhole ? provider.failures.inBand(data ?? {}, turn.now()) : undefined;
  if (failure && (isWhole || context.keepsBack(failure))) return { verdict: { kind: 'failed', failure } };
  const { refusalEvent, refusesByStatus } = turn.surface;
  if (!failure || !(refusalEvent || refusesByStatus)) return { verdict: undefined, replacement: undefined };
  const collected = collectedError(failure, turn, known);
  if (!refusalEvent || refusesByStatus) return { verdict: { kind: 'refused', refusal: collected, outcome: 'failed', failure } };
  const replacement = refusalEvent(turn.named(failure), collected, known);
  if (turn.client === 'http') return { verdict: undefined, replacement };
  return { verdict: { kind: 'refused', refusal: frameRefusal(failure, collected, replacement), outcome: 'failed', failure } };
}

/**
 * The refusal on a websocket. It is an error frame, which has a status, and the connection stays open (Q2). A status that the account
 * states is used (Q3).
 */
function frameRefusal(failure: Failure, collected: Refusal, { data }: RefusalEvent): Refusal {
  if (failure.status !== 200) return collected;
  return new RelayedRefusal(collected.status, data.error, loggedCode(failure.error.code));
}
