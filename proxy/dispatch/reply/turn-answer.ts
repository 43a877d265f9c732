// A JSON answer to a turn: one body for a client of HTTP, or the frames that a native websocket has in its place.
import { loggedCode } from '../../turn/errors/error-codes.ts';
import { carrierFailure, type Failure } from '../../turn/errors/failure.ts';
import { isList, type Json, type JsonObject } from '../../turn/json/json.ts';
import { replyText } from '../../turn/reply/reply-text.ts';
import type { OutcomeKind } from '../../turn/turn.ts';
import { type AnsweredReply, failureIn, isFailure } from './checked-answer.ts';
import type { CloseReply, Verdict } from './reply-context.ts';

/**
 * The verdict on a body that answers a turn. No rule checks it as a whole.
 * @param json undefined for a body that is not a JSON object
 * @param text the answer as it came
 * @throws Refusal if the answer cannot be written
 */
export function verdictOnTurn(json: JsonObject | undefined, text: string | Buffer, reply: AnsweredReply): Verdict {
  const { context, head } = reply;
  const { turn, observers } = context;
  const failure = failureIn(json, context);
  if (failure && (!turn.surface.relaysWholeAnswers || context.keepsBack(failure))) return { kind: 'failed', failure };
  if (!json || (!failure && !mayAnswer(json, reply))) return { kind: 'failed', failure: carrierFailure('malformed') };
  context.committed();
  if (!failure) observers.answer(json);
  const close = turn.client === 'websocket' ? closeWithFrames(json, failure, reply) : closeWithBody({ json, text }, failure, reply);
  const outcome = { kind: outcomeOf(json), shown: true } as const;
  const code = failure ? loggedCode(failure.error.code) : null;
  return { kind: 'done', ending: { outcome, status: head.status, code }, close, failure };
}

/**
 * Whether a body that is no failure is an answer. Turns of the compatible surface are sent as streams, so it is one only for a client that
 * did not ask for a stream, and only if it is a response. A native client gets any body, but on a websocket only an event.
 */
function mayAnswer(json: JsonObject, { client, context: { turn } }: AnsweredReply): boolean {
  if (turn.surface.relaysWholeAnswers) return turn.client === 'http' || isEnded(json);
  return !client.streams && isEnded(json);
}

/** The states of a response that is an answer. Some servers state none. */
const ENDED: ReadonlySet<Json | undefined> = new Set([undefined, null, 'completed', 'incomplete']);

/** Whether a body is a response that has ended well. Any other JSON object is no answer to a turn (Q3). */
const isEnded = ({ object, output, status }: JsonObject): boolean => (object === 'response' || isList(output)) && ENDED.has(status);

function outcomeOf(json: JsonObject): OutcomeKind {
  if (isFailure(json)) return 'failed';
  return json.status === 'incomplete' ? 'incomplete' : 'completed';
}

interface WholeAnswer {
  readonly json: JsonObject;
  /** The answer as it came. */
  readonly text: string | Buffer;
}

/** @param failure a refusal that a native client gets as the provider's answer */
function closeWithBody(
  { json, text }: WholeAnswer,
  failure: Failure | undefined,
  { head, client, context: { turn, known } }: AnsweredReply,
): CloseReply {
  turn.rules.head(head);
  const { surface } = turn;
  const options = { ...turn.answerHeaderOptions, as: 'body', responseId: undefined } as const;
  const answer = turn.answerOf(
    failure ? surface.failureEvent(json, turn.named(failure), known, options) : surface.endOf(json, known, options),
    failure ? undefined : turn.collector(),
  );
  const { status, headers } = head;
  // Text is preferred, because Node writes it in one piece with the head, and bytes separately.
  const out = answer === json ? text : replyText(answer);
  return () => client.answer(status, headers, out);
}

/** The frames of a native websocket: the metadata of an accepted turn (EV1), and the event that ends its reply. */
function closeWithFrames(
  json: JsonObject,
  failure: Failure | undefined,
  { head, client, context: { turn, known } }: AnsweredReply,
): CloseReply {
  head.refuses = failure !== undefined;
  const first = turn.rules.head(head);
  const { surface } = turn;
  const options = { ...turn.answerHeaderOptions, as: 'frame', responseId: undefined } as const;
  const stated = json.status === 'failed' ? { type: 'response.failed', response: json } : json;
  const data = failure
    ? surface.failureEvent(stated, turn.named(failure), known, options)
    : { type: `response.${outcomeOf(json)}`, response: turn.answerOf(surface.endOf(json, known, options), turn.collector()) };
  const end = { type: String(data.type), data };
  // Written before it is sent, so that an answer that cannot be written is refused.
  replyText(data);
  return (closing) => {
    const sink = client.sink();
    sink.open(head.status, head.headers);
    for (const event of [...first, end]) sink.event(event);
    sink.close(closing, { kind: outcomeOf(json), shown: true });
  };
}
