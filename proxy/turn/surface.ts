// A surface: one API of clients. How it authenticates, decodes requests, names members in errors, and encodes answers, streams and refusals.
import type { ServerResponse } from 'node:http';
import type { Failure } from './errors/failure.ts';
import type { Refusal } from './errors/refusal.ts';
import type { Confidential } from './errors/sanitise.ts';
import type { JsonObject } from './json/json.ts';
import type { HeldBytes } from './reply/held-bytes.ts';
import type { Sink } from './reply/sink.ts';
import type { RouteKind, SurfaceName } from './routes/kinds.ts';
import type { WireWords } from './settings.ts';
import type { Body, Event, Headers, Turn, Work } from './turn.ts';
import type { AnswerHeaderOptions } from './wire/headers.ts';

/** A whole answer that the gateway gives without an account. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
  /** The error code for the row. */
  readonly code?: string;
}

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
  /** The id of the response that failed, if the stream has named it. */
  readonly responseId: string | undefined;
}

/** The turn of a reply that a surface encodes, with its clock and its memory. */
export interface StreamedTurn extends Turn {
  /** The bytes of the reply in memory. */
  readonly held: Pick<HeldBytes, 'hold' | 'release'>;
  /** The estimate of the request's tokens (Q19). */
  readonly promptTokens: number;
  now(): number;
  /** Runs `run` once after `ms` milliseconds; the function it returns cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The client's names of members of a request that was translated. */
export interface MemberNames {
  /**
   * The path that the client wrote for a member of the translated request, such as `input.3.content.0`; null if the member was made from
   * nothing that the client wrote.
   */
  nameOf(param: string): string | null;
}

/** Makes the answer of a client that asked for no stream of the events that its stream would show. */
export interface Collector extends Pick<Sink, 'wants' | 'raw' | 'event' | 'lost' | 'satisfied'> {
  /** @param response the final one, when every rule has run. @throws Refusal */
  answer(response: JsonObject): JsonObject;
}

/** A model as a list names it, or a name that stands for it. */
export interface NamedModel {
  readonly id: string;
  readonly displayName: string;
  /** Unix seconds; 0 if unknown. */
  readonly created: number;
  /** The effective window in tokens. */
  readonly window: number | undefined;
}

/** The parts of a request that show whose client it is. */
export interface Addressed {
  readonly path: string;
  readonly headers: Headers;
  readonly kind: RouteKind | undefined;
}

export interface Decoded<Memory> {
  readonly names: MemberNames;
  /** What the encoding of the reply needs of the request. */
  readonly memory: Memory;
  /** The session that the client names in other ways than by a continuity header (AM64). */
  readonly session?: string | undefined;
  /** The decoded request, if the estimate of its tokens cannot read the client's own (Q19). */
  readonly request?: Body;
  /** The answer to a request that asks only for its checks: no account gets it. */
  readonly answer?: Answer;
}

/** @typeParam Memory what the surface keeps of a request that it has decoded, for its reply */
export interface Surface<Memory = unknown> {
  readonly name: string;
  /** Whether it takes a request whose kind is that of another surface, or of none: by its path, or by a header of its clients. */
  claims?(request: Addressed): boolean;
  /** The headers that state the id of the request's row. */
  readonly idHeaders: readonly string[];
  /** The texts in the request's headers that may be the key's secret, in the order in which they are tried. */
  credentials(headers: Headers): readonly string[];
  /**
   * Replaces the client's request by one of the Responses API. It runs before every rule that reads more of the body than its model. Absent
   * on a surface whose clients write such requests themselves.
   * @throws Refusal that names members as the client wrote them
   */
  decode?(work: Work, turn: Turn): Decoded<Memory>;
  /** The client's headers that go to an account; a fresh object, so that an attempt may edit it. */
  requestHeaders(headers: Headers, wire: WireWords): Record<string, string>;
  /** The account's headers that go to the client. */
  answerHeaders(headers: Headers, options: AnswerHeaderOptions): Record<string, string>;
  /**
   * Whether its clients speak the backend's own protocol: answers have the ETag of the model list (Q14), the account's turn state is read
   * from them (Q10), and errors keep the provider's words.
   */
  readonly agentProtocol: boolean;
  /** Whether a client that did not ask for a stream gets the events collected as one answer (Q15). */
  readonly collects: boolean;
  /** Whether a stream of Responses events has sequence numbers without gaps, and a marked end (Q2, Q17); else it passes as sent. */
  readonly numbersEvents: boolean;
  /** Whether a whole JSON body is an answer to a turn, also if the client asked for a stream. */
  readonly relaysWholeAnswers: boolean;
  /** Encodes a reply of events as a stream over HTTP. */
  stream(response: ServerResponse, turn: StreamedTurn, memory: Memory): Sink;
  /**
   * The answer that the final response becomes, when every rule has run; absent if the client gets the response itself.
   * @throws Refusal
   */
  answer?(response: JsonObject, turn: Turn, memory: Memory): JsonObject;
  /** Replaces `answer` if an answer is made of the reply's events. */
  collector?(turn: StreamedTurn, memory: Memory): Collector;
  /** The refusal in this surface's envelope; absent if it is that of the error table (Q1). */
  refusal?(refusal: Refusal, turn: Turn, memory: Memory | undefined): Refusal;
  /** Counts what the words of a refusal need; undefined if they need nothing. Never rejects. */
  measure?(refusal: Refusal, turn: Turn, memory: Memory): Promise<void> | undefined;
  /** A page of a model list; absent if it is that of `GET /v1/models` of the OpenAI API. */
  modelPage?(models: readonly NamedModel[], query: URLSearchParams): JsonObject;
  modelObject?(model: NamedModel): JsonObject;
  /** Answers a request that only counts its tokens. @throws Refusal */
  countTokens?(body: Body, turn: Turn): Promise<JsonObject>;
  /** A reply that died after commit: `cut` ends the connection without its last chunk; `close` ends it with an error event (Q17, F1.8). */
  readonly brokenReply: 'cut' | 'close';
  /** The code for the row of a reply that broke off. */
  readonly brokenReplyCode: 'upstream_error' | 'server_error';
  /** The event or the whole answer that ends a reply, as this client may see it; the same object if nothing was removed. */
  endOf(data: JsonObject, known: Confidential, options: AnswerHeaderOptions): JsonObject;
  /** A failure event as this client may see it. The failure has the client's names already. */
  failureEvent(data: JsonObject, failure: Failure, known: Confidential, options: FailureEventOptions): JsonObject;
  /**
   * The one event of a stream that begins with a refusal, in place of all that the account sent (F1.8, Q17). Undefined on a surface that
   * relays what was sent. `collected` is the answer of a client that did not ask for a stream.
   */
  readonly refusalEvent: ((failure: Failure, collected: Refusal, known: Confidential) => Event) | undefined;
  /** Whether a stream that begins with a refusal is an answer with a status in place of it (AM13). */
  readonly refusesByStatus?: boolean;
  /**
   * The events of a stream that shows an answer which was checked as a whole (F3.2). Absent on a surface whose clients get such an answer
   * as one body.
   */
  readonly wholeAnswerEvents?: (answer: JsonObject) => readonly Event[];
  /** The client's answer if an account refused with a status and no other account is asked (Q3). The failure has the client's names already. */
  refusalOf(failure: Failure, options: AnswerHeaderOptions, known: Confidential): Refusal | RelayedAnswer;
}

/** Fixes Memory by inference. */
export const surface = <Memory>(definition: Surface<Memory>): Surface => definition;

/** One for each way in which kinds are addressed. */
export type Surfaces = Readonly<Record<SurfaceName, Surface>>;
