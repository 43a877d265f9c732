// A surface: how one family of clients is addressed. Header lists both ways, errors of accounts, and how a broken reply ends.
import type { Failure } from './errors/failure.ts';
import type { Refusal } from './errors/refusal.ts';
import type { Confidential } from './errors/sanitise.ts';
import type { JsonObject } from './json/json.ts';
import type { SurfaceName } from './routes/kinds.ts';
import type { WireWords } from './settings.ts';
import type { Event, Headers, Turn } from './turn.ts';
import type { AnswerHeaderOptions } from './wire/headers.ts';

/** A provider's own refusal, sanitised, as a native client gets it. */
export interface RelayedAnswer {
  readonly status: number;
  /** A fresh object: rules may edit it. */
  readonly headers: Record<string, string>;
  readonly body: string;
  /** The code for the row. */
  readonly code: string;
}

export interface FailureEventOptions extends AnswerHeaderOptions {
  /** How the client gets it: in the stream of a turn, as a frame, or in another answer, such as that of an image route. */
  readonly as: 'turn stream' | 'frame' | 'other';
  /** The id of the response that failed, where the stream has named it. */
  readonly responseId: string | undefined;
}

export interface Surface {
  readonly name: SurfaceName;
  /** The client's headers that go to an account; a fresh object, so that an attempt may edit it. */
  requestHeaders(headers: Headers, wire: WireWords): Record<string, string>;
  /** The account's headers that go to the client. */
  answerHeaders(headers: Headers, options: AnswerHeaderOptions): Record<string, string>;
  /** Whether answers have the ETag of the model list (Q14), and the account's turn state is read from them (Q10). */
  readonly agentProtocol: boolean;
  /** Whether a client that did not ask for a stream gets the events collected as one answer (Q15). */
  readonly collects: boolean;
  /** Whether a stream of Responses events has sequence numbers without gaps, and a marked end (Q2, Q17); else it passes as sent. */
  readonly numbersEvents: boolean;
  /** Whether a whole JSON body is an answer to a turn, also where the client asked for a stream. */
  readonly relaysWholeAnswers: boolean;
  /**
   * The answer that the final response becomes, when every rule has run; undefined where the client gets the response itself. The same
   * encoding of streams is the work of the surface's sink.
   */
  readonly answer?: (response: JsonObject, turn: Pick<Turn, 'id' | 'at' | 'model'>) => JsonObject;
  /** A reply that died after commit: `cut` ends the connection without its last chunk; `close` ends it with an error event (Q17, F1.8). */
  readonly brokenReply: 'cut' | 'close';
  /** The code for the row of a reply that broke off. */
  readonly brokenReplyCode: 'upstream_error' | 'server_error';
  /** The event or the whole answer that ends a reply, as this client may see it; the same object where nothing was removed. */
  endOf(data: JsonObject, known: Confidential, options: AnswerHeaderOptions): JsonObject;
  /** A failure event as this client may see it. */
  failureEvent(data: JsonObject, failure: Failure, known: Confidential, options: FailureEventOptions): JsonObject;
  /**
   * The one event of a stream that begins with a refusal, in place of all that the account sent (F1.8, Q17). Undefined on a surface that
   * relays what was sent. `collected` is the answer of a client that did not ask for a stream.
   */
  readonly refusalEvent: ((failure: Failure, collected: Refusal, known: Confidential) => Event) | undefined;
  /**
   * The events of a stream that shows an answer which was checked as a whole (F3.2). Absent on a surface whose clients get such an answer
   * as one body.
   */
  readonly wholeAnswerEvents?: (answer: JsonObject) => readonly Event[];
  /** The client's answer where an account refused with a status and no other account is asked (Q3). */
  refusalOf(failure: Failure, options: AnswerHeaderOptions, known: Confidential): Refusal | RelayedAnswer;
}

/** One for each way in which kinds are addressed. */
export type Surfaces = Readonly<Record<SurfaceName, Surface>>;
