// A surface is one API of clients: how it authenticates, decodes requests, names members in errors, and encodes answers, streams and
// refusals.
import type { ServerResponse } from 'node:http';
import type { Failure } from './errors/failure.ts';
import type { Refusal, RefusalEvent } from './errors/refusal.ts';
import type { Confidential } from './errors/sanitise.ts';
import type { JsonObject } from './json/json.ts';
import type { HeldBytes } from './reply/held-bytes.ts';
import type { Sink } from './reply/sink.ts';
import type { SurfaceName } from './routes/kinds.ts';
import type { WireWords } from './settings.ts';
import type { Body, Event, Headers, Turn, Work } from './turn.ts';
import type { AnswerHeaderOptions } from './wire/headers.ts';

/** A whole answer that the gateway gives without an account. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | string;
  /** The error code that is logged. */
  readonly code?: string;
}

/** A provider's own refusal, sanitised, as a native client gets it. */
export interface RelayedAnswer {
  readonly status: number;
  /** A fresh object, which rules may edit. */
  readonly headers: Record<string, string>;
  readonly body: string;
  /** The code that is logged. */
  readonly code: string;
}

export interface FailureEventOptions extends AnswerHeaderOptions {
  /** How the client gets the failure: in the stream of a turn or of another route, as a frame, or as the whole body of an answer. */
  readonly as: 'turn stream' | 'other stream' | 'frame' | 'body';
  /** The id of the failed response, if the stream has stated it. */
  readonly responseId: string | undefined;
}

/** The turn whose reply a surface encodes, with its clock and its memory. */
export interface StreamedTurn extends Turn {
  /** The bytes of the reply in memory. */
  readonly held: Pick<HeldBytes, 'hold' | 'release'>;
  /** The estimate of the request's tokens (Q19). */
  readonly promptTokens: number;
  now(): number;
  /** Runs `run` once after `ms` milliseconds; the function it returns cancels it. */
  after(ms: number, run: () => void): () => void;
}

/** The client's names of members, for a request that was translated. */
export interface MemberNames {
  /**
   * The path that the client wrote for a member of the translated request, such as `input.3.content.0`. Null if nothing that the client
   * wrote corresponds to the member.
   */
  nameOf(param: string): string | null;
}

/** Makes one answer, for a client that asked for no stream, from the events that a stream would show. */
export interface Collector extends Pick<Sink, 'wants' | 'raw' | 'event' | 'lost' | 'satisfied'> {
  /** @param response the final response, after every rule has run. @throws Refusal */
  answer(response: JsonObject): JsonObject;
}

/** A model in a list, or another name of it. */
export interface NamedModel {
  readonly id: string;
  readonly displayName: string;
  /** Unix seconds; 0 if unknown. */
  readonly created: number;
  /** The effective context window in tokens. */
  readonly window: number | undefined;
}

/** The requests that a surface takes, although their kind belongs to another surface or to none. */
export interface Claim {
  /** All requests to this path, and to the paths below it. */
  readonly path: string;
  /** The header with which clients of the surface ask for model lists, and for paths of /v1 that no row serves. */
  readonly header?: string;
}

export interface Decoded<Memory> {
  readonly names: MemberNames;
  /** What the encoding of the reply needs from the request. */
  readonly memory: Memory;
  /** The session, if the client names it in another way than by a continuity header (AM64). */
  readonly session?: string | undefined;
  /** The decoded request, if the estimate of its tokens cannot read the client's own request (Q19). */
  readonly request?: Body;
  /** The answer to a request that asks only for a check. It is sent to no account. */
  readonly answer?: Answer;
}

/** @typeParam Memory what the surface keeps of a decoded request for encoding its reply */
export interface Surface<Memory = unknown> {
  readonly name: string;
  readonly claim?: Claim;
  /** The names of the headers that state the id of the request's row. */
  readonly idHeaders: readonly string[];
  /** The texts in the request's headers that may be the key's secret, in the order in which they are tried. */
  credentials(headers: Headers): readonly string[];
  /**
   * Replaces the client's request with one of the Responses API. It runs before every rule that reads more of the body than its model.
   * Absent if clients of the surface write Responses requests themselves.
   * @throws Refusal that names members as the client wrote them
   */
  decode?(work: Work, turn: Turn): Decoded<Memory>;
  /** The client's headers that are sent to an account. Returns a fresh object, which an attempt may edit. */
  requestHeaders(headers: Headers, wire: WireWords): Record<string, string>;
  /** The account's headers that are sent to the client. */
  answerHeaders(headers: Headers, options: AnswerHeaderOptions): Record<string, string>;
  /**
   * Whether clients speak the backend's own protocol: answers have the ETag of the model list (Q14), the account's turn state is read from
   * the answers (Q10), and errors keep the provider's words.
   */
  readonly agentProtocol: boolean;
  /** Whether a client that did not ask for a stream gets one answer made of the events (Q15). */
  readonly collects: boolean;
  /**
   * Whether a stream of Responses events has sequence numbers without gaps, and a marked end (Q2, Q17). Otherwise events are passed on as
   * they were sent.
   */
  readonly numbersEvents: boolean;
  /** Whether a whole JSON body is accepted as the answer to a turn, even if the client asked for a stream. */
  readonly relaysWholeAnswers: boolean;
  /** Encodes a reply of events as a stream over HTTP. */
  stream(response: ServerResponse, turn: StreamedTurn, memory: Memory): Sink;
  /**
   * The answer that is made of the final response, after every rule has run. Absent if the client gets the response itself.
   * @throws Refusal
   */
  answer?(response: JsonObject, turn: Turn, memory: Memory): JsonObject;
  /** Makes the answer from the reply's events. If it is present, `answer` is not used. */
  collector?(turn: StreamedTurn, memory: Memory): Collector;
  /** The refusal in the form of this surface. Absent if the surface uses the form of the error table (Q1). */
  refusal?(refusal: Refusal, turn: Turn, memory: Memory | undefined): Refusal;
  /** Counts the tokens that the text of a refusal states; undefined if it states none. Never rejects. */
  measure?(refusal: Refusal, turn: Turn, memory: Memory): Promise<void> | undefined;
  /** A page of a model list. Absent if the surface uses the form of `GET /v1/models` of the OpenAI API. */
  modelPage?(models: readonly NamedModel[], query: URLSearchParams): JsonObject;
  modelObject?(model: NamedModel): JsonObject;
  /** Answers a request that only counts its tokens. @throws Refusal */
  countTokens?(body: Body, turn: Turn): Promise<JsonObject>;
  /**
   * How a reply that broke after commit ends: `cut` ends the connection without its last chunk; `close` ends it with an error event (Q17,
   * F1.8).
   */
  readonly brokenReply: 'cut' | 'close';
  /** The code that is logged for a reply that broke off. */
  readonly brokenReplyCode: 'upstream_error' | 'server_error';
  /** The event or the whole answer that ends a reply, as this client may see it. Returns the same object if nothing was removed. */
  endOf(data: JsonObject, known: Confidential, options: AnswerHeaderOptions): JsonObject;
  /** A failure event as this client may see it. The failure already has the client's names. */
  failureEvent(data: JsonObject, failure: Failure, known: Confidential, options: FailureEventOptions): JsonObject;
  /**
   * The one event of a stream that begins with a refusal. It replaces all that the account sent (F1.8, Q17). Undefined on a surface that
   * relays what was sent. `collected` is the answer to a client that did not ask for a stream.
   */
  readonly refusalEvent: ((failure: Failure, collected: Refusal, known: Confidential) => RefusalEvent) | undefined;
  /** Whether a stream that begins with a refusal is replaced with an answer that has a status (AM13). */
  readonly refusesByStatus?: boolean;
  /**
   * The events of a stream that shows an answer which was checked whole (F3.2). Absent if clients of the surface get such an answer as one
   * body.
   */
  readonly wholeAnswerEvents?: (answer: JsonObject) => readonly Event[];
  /**
   * The client's answer if an account refused with a status and no other account is tried (Q3). The failure already has the client's names.
   */
  refusalOf(failure: Failure, options: AnswerHeaderOptions, known: Confidential): Refusal | RelayedAnswer;
}

/** Lets the compiler infer the type of the memory. */
export const surface = <Memory>(definition: Surface<Memory>): Surface => definition;

/** The surfaces by name. */
export type Surfaces = Readonly<Record<SurfaceName, Surface>>;
