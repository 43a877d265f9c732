// The end of a reply of events: the verdict for its client, and the events with which the gateway ends it before its account does.
import { loggedCode } from '../../../turn/errors/error-codes.ts';
import { blamesAccount, carrierFailure, type Failure } from '../../../turn/errors/failure.ts';
import { Refusal, refusalOf } from '../../../turn/errors/refusal.ts';
import type { JsonObject } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import type { Ending, TokenCounts } from '../../../turn/reply/turn-result.ts';
import type { Outcome, OutcomeKind } from '../../../turn/turn.ts';
import { collectedError } from '../../client-error.ts';
import type { ReplyContext, Verdict } from '../reply-context.ts';

/** How a reply ended. */
export interface EndedReply {
  readonly kind: OutcomeKind;
  /** Whether the client gets a complete reply, or one that is cut off. */
  readonly how: 'close' | 'cut';
  /** The status of its head. */
  readonly status: number;
  /** The failure that the account reported, or how the reply broke off. */
  readonly failure: Failure | undefined;
}

export function verdictAt({ kind, how, status, failure }: EndedReply, sink: Sink, { turn, known }: ReplyContext): Verdict {
  const outcome = { kind, shown: sink.shown };
  try {
    sink.conclude(outcome, () => collectedError(failure ?? carrierFailure('network'), turn, known));
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) turn.fault(thrown);
    return { kind: 'refused', refusal: refusalOf(thrown), outcome: kind === 'cut' ? kind : 'failed', failure };
  }
  return {
    kind: 'done',
    ending: endingOf(outcome, status, failure, turn),
    close: (closing) => (how === 'cut' ? sink.cut() : sink.close(closing, outcome)),
    failure,
  };
}

/** The ending for the turn's row. */
function endingOf(outcome: Outcome, status: number, failure: Failure | undefined, { client, surface }: ReplyContext['turn']): Ending {
  const failed = outcome.kind === 'failed';
  // On a websocket an error frame has a status of its own.
  const stated = failed && client === 'websocket' ? failure && shownStatus(failure) : undefined;
  const code = failure ? loggedCode(failure.error.code) : 'upstream_error';
  return { outcome, status: stated ?? status, code: failed ? code : outcome.kind === 'cut' ? surface.brokenReplyCode : null };
}

const shownStatus = (failure: Failure): number | undefined => (blamesAccount(failure) ? 502 : failure.status);

/**
 * Ends a reply at the cap of output tokens, as a provider does (CR1).
 * @param known the data of the event, if it is parsed already
 * @returns the part of the event that still fits, and the closing events; undefined below the cap, and if the account got the cap
 */
export function endAtCap(
  event: ReplyEvent,
  known: JsonObject | undefined,
  { turn, counters, outputCap }: ReplyContext,
): readonly JsonObject[] | undefined {
  const last = outputCap?.read(event, known);
  if (!outputCap || !last) return undefined;
  counters.add('replies_capped');
  turn.note('tokens_estimated', true);
  return [...last, ...outputCap.closing()];
}

/** Completes the reply of a client that has all that it asked for (AM49). */
export function endSatisfied({ turn, estimateUsage }: ReplyContext): readonly JsonObject[] {
  turn.note('tokens_estimated', true);
  return [{ type: 'response.completed', response: { status: 'completed', output: [], usage: usageOf(estimateUsage()) } }];
}

/** The usage in the response of the gateway's own end; null if the counts of the turn are unknown. */
export function usageOf(counts: TokenCounts | undefined): JsonObject | null {
  const { input_tokens, output_tokens } = counts ?? {};
  if (typeof input_tokens !== 'number' || typeof output_tokens !== 'number') return null;
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}
