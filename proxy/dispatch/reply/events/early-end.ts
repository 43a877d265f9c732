// The events with which the gateway ends a reply before its account does. The caller leaves the account, which would continue.
import type { JsonObject } from '../../../turn/json/json.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import type { TokenCounts } from '../../../turn/reply/turn-result.ts';
import type { ReplyContext } from '../reply-context.ts';
import type { OutputCap } from './output-cap.ts';

/**
 * Ends a reply at the cap of output tokens, as a provider does (CR1).
 * @param known the data of the event, if it is parsed already
 * @returns the part of the event that still fits, and the closing events; undefined below the cap
 */
export function endAtCap(
  outputCap: OutputCap,
  event: ReplyEvent,
  known: JsonObject | undefined,
  { turn, counters }: ReplyContext,
): readonly JsonObject[] | undefined {
  const last = outputCap.read(event, known);
  if (!last) return undefined;
  counters.add('replies_capped');
  turn.note('tokens_estimated', true);
  return [...last, ...outputCap.closing()];
}

/** Completes the reply of a client that has all that it asked for (AM49). */
export function endSatisfied({ turn, estimateUsage }: ReplyContext): readonly JsonObject[] {
  turn.note('tokens_estimated', true);
  return [{ type: 'response.completed', response: { status: 'completed', output: [], usage: usageOf(estimateUsage()) } }];
}

/** Null if the counts of the turn are unknown. */
function usageOf(counts: TokenCounts | undefined): JsonObject | null {
  const { input_tokens, output_tokens } = counts ?? {};
  if (typeof input_tokens !== 'number' || typeof output_tokens !== 'number') return null;
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}
