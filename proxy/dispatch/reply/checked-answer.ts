// A JSON answer that rules check as a whole before the client gets any of it (F3.7).
import type { Failure } from '../../turn/errors/failure.ts';
import { Refusal, refusalOf } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import { withBytesOf } from '../../turn/json/raw-members.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { replyText } from '../../turn/reply/reply-text.ts';
import type { Head } from '../../turn/turn.ts';
import type { Client } from '../client.ts';
import type { CloseReply, ReplyContext, Verdict } from './reply-context.ts';

/** The account of the answer, and its client. */
export interface AnsweredReply {
  readonly head: Head;
  readonly client: Client;
  readonly context: ReplyContext;
}

/** Whether a body is a failure. `"error": null` is not an error (Q15). A body that has only a `detail` is one (RB19). */
export const isFailure = (json: JsonObject): boolean =>
  (typeof json.error === 'object' && json.error !== null) ||
  json.status === 'failed' ||
  (json.detail !== undefined && Object.keys(json).length === 1);

/** The failure that a reply contains; undefined for an answer. */
export const failureIn = (json: JsonObject | undefined, { turn, provider }: ReplyContext): Failure | undefined =>
  json && isFailure(json) ? provider.failures.inBand(json, turn.now()) : undefined;

/**
 * The verdict on an answer that is checked as a whole. One that is not valid, or that a rule refuses, does not count as a failure of the account (Q5).
 * @param json undefined for a reply that is not a JSON object, and for a stream without its end
 * @param text the answer as it came; undefined if it was collected from events
 */
export function verdictOnAnswer(
  json: JsonObject | undefined,
  text: string | Buffer | undefined,
  { head, client, context }: AnsweredReply,
): Verdict {
  const { turn, known, observers } = context;
  const failure = failureIn(json, context);
  if (failure) return { kind: 'failed', failure };
  try {
    if (!json) throw new Refusal(turn.dispatchedKind?.invalidReply ?? 'upstream_error');
    turn.rules.head(head);
    // The other kinds answer with addresses and texts that are the work itself.
    const shown = turn.dispatchedKind?.model ? turn.surface.endOf(json, known, turn.answerHeaderOptions) : json;
    const answer = turn.rules.answer(shown);
    context.committed();
    // Collected events were observed as they came.
    if (text !== undefined) observers.answer(json);
    const outcome = { kind: 'completed', shown: true } as const;
    const keepsBytes = turn.dispatchedKind?.keepsBytes === true && text !== undefined;
    const sent = answer === json ? text : keepsBytes ? withBytesOf(Buffer.from(text), json, answer) : undefined;
    const close = closeWith(answer, sent, { head, client, turn });
    return { kind: 'done', ending: { outcome, status: head.status, code: null }, close };
  } catch (thrown) {
    if (thrown instanceof Refusal) return { kind: 'refused', refusal: thrown, errorClass: 'upstream_malformed' };
    turn.fault(thrown);
    return { kind: 'refused', refusal: refusalOf(thrown) };
  }
}

/** Sends the answer as one body, or as a few events to a client that asked for a stream. */
function closeWith(
  answer: JsonObject,
  text: string | Buffer | undefined,
  { head, client, turn }: { readonly head: Head; readonly client: Client; readonly turn: LiveTurn },
): CloseReply {
  const { status, headers } = head;
  const events = client.streams ? turn.surface.wholeAnswerEvents?.(answer) : undefined;
  if (!events) {
    const body = text ?? replyText(answer);
    return () => client.answer(status, { ...headers, 'content-type': 'application/json' }, body);
  }
  // Written before it is sent, so that an answer that cannot be written is refused.
  replyText(events.map(({ data }) => data));
  return (closing) => {
    const sink = client.sink();
    sink.open(status, headers);
    for (const event of events) sink.event(event);
    sink.close(closing, { kind: 'completed', shown: true });
  };
}
