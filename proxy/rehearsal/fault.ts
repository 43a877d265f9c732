// The faults that the rehearsal provider can simulate, as plain data.
import type { Json } from '../turn/json.ts';

/** A position in a reply. Bytes count the body only; events count from 1; a position past the end is the end. */
export type ReplyPosition = 'before-headers' | 'after-headers' | { readonly events: number } | { readonly bytes: number };

/** The body of a scripted reply. */
export type ReplyBody =
  /** Sent as SSE, each with an `event:` line when its `type` is a string. */
  | { readonly events: readonly Json[] }
  | { readonly json: Json }
  | { readonly text: string }
  /** Arbitrary bytes. */
  | { readonly base64: string };

/** Answers exactly this. Header names are lower case; `events` and `json` set `content-type` where `headers` has none. */
export interface ReplyFault {
  readonly kind: 'reply';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: ReplyBody;
}

/** Answers with an error in the provider's shape. */
export interface RefuseFault {
  readonly kind: 'refuse';
  readonly status: number;
  /** Default: the usual code of the status. */
  readonly code?: string;
  /** `Retry-After`, in seconds. */
  readonly retryAfter?: number;
  /** Seconds until the reset: adds `resets_at` (Unix seconds) and `resets_in_seconds` to the error. */
  readonly resetsIn?: number;
}

/** Answers 200 and refuses inside the reply: with an event in SSE, with a response of status `failed` in JSON. */
export interface RefuseInsideFault {
  readonly kind: 'refuse-inside';
  /** Default `server_is_overloaded`. */
  readonly code?: string;
  /** The event that refuses. Default `response.failed`. */
  readonly as?: 'error' | 'response.failed';
  /** How many ordinary events of the turn come first. Default 2: the lifecycle events. */
  readonly after?: number;
}

/** Ends the connection too early: `close` sends a FIN without the final chunk, `reset` a TCP RST. */
export interface CutFault {
  readonly kind: 'cut';
  readonly at: ReplyPosition;
  readonly how?: 'close' | 'reset';
}

/** Pauses the reply for `ms`, or without it until it is released or the client closes the connection. */
export interface StallFault {
  readonly kind: 'stall';
  readonly at: ReplyPosition;
  readonly ms?: number;
}

/** Makes one event (default the third), or the body of a JSON answer, invalid JSON. */
export interface MalformedFault {
  readonly kind: 'malformed';
  readonly event?: number;
}

/** Empties `output` in the terminal event's response, although items were streamed. */
export interface EmptyOutputFault {
  readonly kind: 'empty-output';
}

/** Ends the stream cleanly without its terminal event; a JSON answer stays `in_progress`. */
export interface NoTerminalFault {
  readonly kind: 'no-terminal';
}

/** Replaces LF as the line end of SSE. */
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

/** Faults of one reply combine: content first, then framing, then delivery in the order given. */
export type Fault =
  | ReplyFault
  | RefuseFault
  | RefuseInsideFault
  | CutFault
  | StallFault
  | MalformedFault
  | EmptyOutputFault
  | NoTerminalFault
  | FramingFault
  | DripFault
  | PaceFault;

export function faultOf<K extends Fault['kind']>(faults: readonly Fault[], kind: K): Extract<Fault, { kind: K }> | undefined {
  return faults.find((fault): fault is Extract<Fault, { kind: K }> => fault.kind === kind);
}
