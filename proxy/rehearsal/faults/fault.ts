// The faults that the rehearsal provider can simulate, as plain data.
import type { Json } from '../../turn/json/json.ts';
import type { ReasoningSpelling, ReplyForm, StreamForm } from './reply-forms.ts';

/**
 * A position in a reply. Bytes are counted in the body. Events are counted from 1, without keepalives. A position after the end is the end.
 * On a websocket every frame counts as an event, including those of the preamble, bytes include the heads of frames, and both positions at
 * the headers are before the first frame.
 */
export type ReplyPosition = 'before-headers' | 'after-headers' | { readonly events: number } | { readonly bytes: number };

/** The body of a scripted reply. */
export type ReplyBody =
  /** Events that are sent as SSE, each with an `event:` line if its `type` is a string. */
  | { readonly events: readonly Json[] }
  | { readonly json: Json }
  | { readonly text: string }
  /** Arbitrary bytes. */
  | { readonly base64: string };

/**
 * Replaces the answer. On a websocket a JSON error becomes an `error` frame, and every other body the frames that it contains. Header names
 * are lower case. `events` and `json` set `content-type` if `headers` has none.
 */
export interface ReplyFault {
  readonly kind: 'reply';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: ReplyBody;
}

/** Answers with an error in the form of the provider. */
export interface RefuseFault {
  readonly kind: 'refuse';
  readonly status: number;
  /** Default: the usual code of the status. */
  readonly code?: string;
  /** `Retry-After`, in seconds. */
  readonly retryAfter?: number;
  /** `retry-after-ms`. */
  readonly retryAfterMs?: number;
  /** Seconds until the reset: adds `resets_at` (Unix seconds) and `resets_in_seconds` to the error. */
  readonly resetsIn?: number;
}

/** Answers 200 and refuses inside the reply: with an event in SSE, with a response of status `failed` in JSON. */
export interface RefuseInsideFault {
  readonly kind: 'refuse-inside';
  /** Default: `server_is_overloaded`. */
  readonly code?: string;
  /** The event that refuses. Default: `response.failed`. */
  readonly as?: 'error' | 'response.failed';
  /** The number of ordinary events that come first. Default: 2, the lifecycle events. */
  readonly after?: number;
}

/** Ends the connection too early. `close` sends a FIN without the final chunk, `reset` a TCP RST. */
export interface CutFault {
  readonly kind: 'cut';
  readonly at: ReplyPosition;
  readonly how?: 'close' | 'reset';
}

/** Pauses the reply for `ms`. Without `ms` it pauses until it is released or the client closes the connection. */
export interface StallFault {
  readonly kind: 'stall';
  readonly at: ReplyPosition;
  readonly ms?: number;
}

/** Replaces one event (default: the third), or the body of a JSON answer, with invalid JSON or JSON that is not an object. */
export interface MalformedFault {
  readonly kind: 'malformed';
  readonly event?: number;
  /** `array`: the data is `[]`. Default: the data is not JSON. */
  readonly as?: 'array';
}

/** Empties `output` in the terminal event's response, although items were streamed. */
export interface EmptyOutputFault {
  readonly kind: 'empty-output';
}

/** Breaks a compaction: its item is missing, comes twice, or has a blank ciphertext or none. */
export interface CompactionFault {
  readonly kind: 'compaction';
  readonly is: 'missing' | 'twice' | 'blank' | 'unsealed';
}

/** Ends the stream normally without its terminal event. A JSON answer stays `in_progress`. A websocket is closed with 1000. */
export interface NoTerminalFault {
  readonly kind: 'no-terminal';
}

/** Replaces LF as the line end of the SSE stream. */
export interface FramingFault {
  readonly kind: 'framing';
  readonly newline: 'cr' | 'crlf';
}

/** Sends the body in pieces of `bytes` (default 1) with `ms` between them (default: one iteration of the event loop). */
export interface DripFault {
  readonly kind: 'drip';
  readonly bytes?: number;
  readonly ms?: number;
}

/** Waits `ms` before each event. */
export interface PaceFault {
  readonly kind: 'pace';
  readonly ms: number;
}

/** Leaves out the events before `response.created`. */
export interface NoPreambleFault {
  readonly kind: 'no-preamble';
}

/** Closes the websocket with a code, after `after` frames of the turn (default 0). */
export interface CloseFault {
  readonly kind: 'close';
  readonly code: number;
  readonly after?: number;
}

/** Leaves the websocket open without sending anything more, not even a pong or a close, after `after` frames of the turn (default 0). */
export interface HalfOpenFault {
  readonly kind: 'half-open';
  readonly after?: number;
}

/** Refuses the turn with `websocket_connection_limit_reached`, and closes the websocket. */
export interface ConnectionLimitFault {
  readonly kind: 'connection-limit';
}

/** Sends the frame of the connection limit after the turn, without closing the websocket. */
export interface LimitBetweenTurnsFault {
  readonly kind: 'limit-between-turns';
}

/** Answers the interrupts of the turn with `response.interrupt.failed`, or not at all. The turn continues. */
export interface InterruptFault {
  readonly kind: 'interrupt';
  readonly is: 'failed' | 'ignored';
  /** Default: `interrupt_not_supported`. */
  readonly code?: string;
}

/**
 * How a steer of the turn ends. `failed`: at once. `returned`: after it was accepted. `pending`: the response ends with open tool calls.
 * `waits`: the response is not ended by the steer, which waits for its end.
 */
export interface SteerFault {
  readonly kind: 'steer';
  readonly is: 'failed' | 'returned' | 'pending' | 'waits';
  /** The code of a steer that fails. Default: `steering_not_supported`, or `successor_creation_failed` for a steer that is returned. */
  readonly code?: string;
}

/** Writes the status of error frames as `status_code`. */
export interface StatusCodeFault {
  readonly kind: 'status-code';
}

/** Refuses an anchored turn as if the anchor were unknown. */
export interface AnchorLostFault {
  readonly kind: 'anchor-lost';
}

/** Closes the websocket with 1009 instead of answering. */
export interface FrameTooLargeFault {
  readonly kind: 'frame-too-large';
}

/** Sends one frame (default the third) as a binary frame. */
export interface BinaryFrameFault {
  readonly kind: 'binary-frame';
  readonly event?: number;
}

/** Refuses the upgrade to a websocket, as a provider does that has no websockets, or none for this account. */
export interface RefuseUpgradeFault extends Omit<RefuseFault, 'kind'> {
  readonly kind: 'refuse-upgrade';
}

/** Pauses for `ms`, or until it is released, before the upgrade is answered. */
export interface StallUpgradeFault {
  readonly kind: 'stall-upgrade';
  readonly ms?: number;
}

/** Resets the connection instead of answering the upgrade. */
export interface ResetUpgradeFault {
  readonly kind: 'reset-upgrade';
}

/** Writes a Chat reply in an undocumented form. */
export interface FormFault {
  readonly kind: 'form';
  readonly is: ReplyForm;
}

/** Writes an event stream in an undocumented form. */
export interface StreamFault {
  readonly kind: 'stream';
  readonly is: StreamForm;
}

/** Replaces the finish reason of a Chat reply. */
export interface FinishFault {
  readonly kind: 'finish';
  readonly reason: string;
}

/** Replaces the member in which a Chat reply has its reasoning. */
export interface ReasoningFault {
  readonly kind: 'reasoning';
  readonly as: ReasoningSpelling;
}

/** Answers 200 and breaks off with an error: as `{error}`, as vLLM's `{object: "error"}`, as an event of that name, or in the choice. */
export interface ErrorChunkFault {
  readonly kind: 'error-chunk';
  readonly as: 'chunk' | 'object' | 'event' | 'choice';
  /** The code. A number is a status. Default: 502. */
  readonly code?: string | number;
  /** The number of chunks of the reply that come first. Default: none. */
  readonly after?: number;
}

/** Answers with a page of HTML. */
export interface HtmlFault {
  readonly kind: 'html';
  readonly status: number;
}

/** Answers 503, as a server does while it loads the model. */
export interface LoadingFault {
  readonly kind: 'loading';
}

/** States these rate limits in the headers of the answer. */
export interface RateFault {
  readonly kind: 'rate';
  readonly of: 'requests' | 'tokens';
  readonly remaining: number;
  readonly limit: number;
  /** The value of the header: `6m0s`, `20ms`, a number. Default: the header is missing. */
  readonly reset?: string;
}

/** Sends the head at once, and the first event after `ms`. */
export interface SlowFirstByteFault {
  readonly kind: 'slow-first-byte';
  readonly ms: number;
  /** Whether comments are sent during the wait. */
  readonly comments: boolean;
}

/** Leaves out the events of a type. */
export interface WithoutFault {
  readonly kind: 'without';
  readonly type: string;
}

/**
 * A fault. The faults of one reply are combined: first those of the content, then framing, then delivery in the given order. Only faults of
 * upgrades apply to an upgrade. Faults of websockets have no effect over HTTP.
 */
export type Fault =
  | ReplyFault
  | RefuseFault
  | RefuseInsideFault
  | CutFault
  | StallFault
  | MalformedFault
  | EmptyOutputFault
  | CompactionFault
  | NoTerminalFault
  | FramingFault
  | DripFault
  | PaceFault
  | NoPreambleFault
  | CloseFault
  | HalfOpenFault
  | ConnectionLimitFault
  | LimitBetweenTurnsFault
  | InterruptFault
  | SteerFault
  | StatusCodeFault
  | AnchorLostFault
  | FrameTooLargeFault
  | BinaryFrameFault
  | RefuseUpgradeFault
  | StallUpgradeFault
  | ResetUpgradeFault
  | FormFault
  | StreamFault
  | FinishFault
  | ReasoningFault
  | ErrorChunkFault
  | HtmlFault
  | LoadingFault
  | RateFault
  | SlowFirstByteFault
  | WithoutFault;

export function faultOfKind<K extends Fault['kind']>(faults: readonly Fault[], kind: K): Extract<Fault, { kind: K }> | undefined {
  return faults.find((fault): fault is Extract<Fault, { kind: K }> => fault.kind === kind);
}
