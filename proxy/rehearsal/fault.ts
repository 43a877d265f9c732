// The faults: everything that the rehearsal provider can do wrong, as plain data that crosses threads and stands in scripts.
import type { Json } from '../turn/json.ts';

/** A point in a reply. Bytes count the body alone; events are counted from 1 as they are sent; a point past the end is the end. */
export type Moment = 'before-headers' | 'after-headers' | { readonly events: number } | { readonly bytes: number };

/** What the body of a scripted reply is made of. */
export type ReplyBody =
  /** Sent as SSE, each with an `event:` line when its `type` is a string. */
  | { readonly events: readonly Json[] }
  | { readonly json: Json }
  | { readonly text: string }
  /** Base64: exact bytes, also those that are no text. */
  | { readonly base64: string };

/** Answers exactly this instead of the believable turn. Header names are lower case; `content-type` follows from the body when absent. */
export interface ReplyFault {
  readonly kind: 'reply';
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: ReplyBody;
}

/** Answers an error of the provider's own shape. */
export interface RefuseFault {
  readonly kind: 'refuse';
  readonly status: number;
  /** Default: what providers say with that status. */
  readonly code?: string;
  /** `Retry-After`, in seconds. */
  readonly retryAfter?: number;
  /** The body says `resets_at` (unix seconds) and `resets_in_seconds`: this many seconds from now. */
  readonly resetsIn?: number;
}

/** Answers 200 and refuses in the reply: SSE says so in an event, JSON in a response of status `failed`. */
export interface RefuseInsideFault {
  readonly kind: 'refuse-inside';
  /** Default `server_is_overloaded`. */
  readonly code?: string;
  /** The event that says so. Default `response.failed`. */
  readonly as?: 'error' | 'response.failed';
  /** How many of the turn's ordinary events come first: 0 is none, 2 (the default) are the lifecycle events. */
  readonly after?: number;
}

/** The connection ends too early: `close` is a FIN without the final chunk, `reset` a TCP RST. */
export interface CutFault {
  readonly kind: 'cut';
  readonly at: Moment;
  readonly how?: 'close' | 'reset';
}

/** Nothing is sent any more, for `ms` or, without it, until it is released or the client leaves. */
export interface StallFault {
  readonly kind: 'stall';
  readonly at: Moment;
  readonly ms?: number;
}

/** One event (default the third) is no JSON; in a JSON answer the body is. */
export interface MalformedFault {
  readonly kind: 'malformed';
  readonly event?: number;
}

/** The terminal event's response has an empty `output`, although items were streamed. */
export interface EmptyOutputFault {
  readonly kind: 'empty-output';
}

/** The stream ends cleanly, but without its terminal event; a JSON answer is still `in_progress`. */
export interface NoTerminalFault {
  readonly kind: 'no-terminal';
}

/** SSE lines end with this instead of LF. */
export interface FramingFault {
  readonly kind: 'framing';
  readonly newline: 'cr' | 'crlf';
}

/** The body goes out this many bytes at a time (default 1), with `ms` between them (default: one turn of the event loop). */
export interface DripFault {
  readonly kind: 'drip';
  readonly bytes?: number;
  readonly ms?: number;
}

/** Events are sent one by one with this many milliseconds before each: slow, but not wrong. */
export interface PaceFault {
  readonly kind: 'pace';
  readonly ms: number;
}

/** Faults of one reply combine: those of the content come first, then framing, then delivery in the order given. */
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

/** The first fault of a kind, typed as that kind. */
export function faultOf<K extends Fault['kind']>(faults: readonly Fault[], kind: K): Extract<Fault, { kind: K }> | undefined {
  return faults.find((fault): fault is Extract<Fault, { kind: K }> => fault.kind === kind);
}
