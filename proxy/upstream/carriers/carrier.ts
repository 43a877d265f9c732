// The interface between dispatch and the libraries that carry bytes to accounts.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { IdleTimeouts } from '../../base/time/idle-timeouts.ts';
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { PathRoot } from '../../turn/provider/reads.ts';
import type { HeldBytes } from '../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { ReplyEnd } from '../../turn/reply/terminal-event.ts';
import type { Headers } from '../../turn/turn.ts';
import type { FollowingFrames } from './websocket/following-frames.ts';

/** The most 1xx answers before the final answer. They are skipped; a reply with more is malformed. */
export const MAX_INTERIM_ANSWERS = 16;

export interface CarrierRequest {
  readonly method: string;
  /** The absolute path with its query, below the account's base URL. */
  readonly path: string;
  /** `origin`: the path begins at the root of the account's host. By default it begins at the base URL. */
  readonly from?: PathRoot;
  /** All headers of the request. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body; a stream can be sent only once. Null for methods without a body. */
  readonly body: string | Buffer | Readable | null;
}

/** Receives one reply: `head` or `fail`, then its reader gets the body. Nothing is called after `abort`. */
export interface ReplyHandler<Reader> {
  /** The status and headers; the returned reader gets the body. */
  head(status: number, headers: Headers): Reader;
  /** The reply failed before its head. */
  fail(failure: CarrierFailure): void;
}

/**
 * A reader gets the body, and then exactly one of these calls. A reply of events ends at its terminal event, or with its connection (RB16).
 */
interface BodyEnd {
  end(): void;
  fail(failure: CarrierFailure): void;
}

/** Reads events. The carrier splits an SSE stream into events; each websocket frame is an event. */
export interface EventReader extends BodyEnd {
  readonly reads: 'events';
  /**
   * Counts the memory of an event: its chunks until it is complete, then the event while it is read. Past a limit the reply ends with
   * `too_large`.
   */
  readonly memory: Pick<HeldBytes, 'hold' | 'release'>;
  /**
   * Returns the reader for a body whose first byte shows that it is not a stream of events. Undefined if the body is to be read as events
   * anyway. A provider may send streams without a content type (RB16).
   */
  readonly asBytes?: (() => ByteReader | undefined) | undefined;
  /**
   * Ends a reply that is not a valid answer. Its client gets this refusal if nothing was shown yet, and the account is not at fault. Absent
   * if replies are not decoded.
   */
  refuse?(refusal: Refusal): void;
  /** Reads an event. The view is reused for the next one. @returns the end of the reply, if this event or an earlier one announced it */
  event(event: ReplyEvent): ReplyEnd | undefined;
  /** Called when all events of one read of the connection have been delivered. */
  delivered(): void;
}

/** Reads bytes as they come. */
export interface ByteReader extends BodyEnd {
  readonly reads: 'bytes';
  data(chunk: Buffer): void;
}

/** Takes the reply as a stream and pipes it on. The stream reports its own end and failure; `fail` is never called. */
export interface StreamReader {
  readonly reads: 'stream';
  stream(reply: IncomingMessage): void;
}

/** Controls a running request and its reply. */
export interface Sending {
  pause(): void;
  resume(): void;
  /** Drops the connection; the handler is not called again. */
  abort(): void;
  /** The websocket that the reply runs on; absent over HTTP. */
  readonly line?: ReplyLine;
}

/** The websocket that a reply runs on, for frames about the response. */
export interface ReplyLine {
  /** Sends a further frame. */
  send(frame: Buffer): void;
  /** Gives the frames that follow the end of the reply to this reader. Called at the end. */
  followedBy(reader: FollowingFrames): void;
}

/** @template Reader how the bodies of this carrier's replies can be read */
export interface Carrier<Reader> {
  send(request: CarrierRequest, handler: ReplyHandler<Reader>): Sending;
  /** Ends idle connections at once, and the others with their replies. */
  close(): Promise<void>;
  /** Ends every connection at once. */
  destroy(): Promise<void>;
}

/** Carries turns: bodies that rules have read and written. */
export type TurnCarrier = Carrier<EventReader | ByteReader>;

/** Carries bodies unread in both directions. */
export type StreamCarrier = Carrier<StreamReader | ByteReader>;

/**
 * The target of a request: its path, with the parameters that the account adds to every request (AA3).
 * @param query encoded, without `?`; empty if the account has no parameters
 */
export const requestTarget = (path: string, query: string): string =>
  query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`;

/** The waits of one carrier's replies, by what they wait for. */
export interface Waits {
  readonly head: IdleTimeouts;
  readonly data: IdleTimeouts;
}

export const waitsOf = (timeouts: { readonly firstByteMs: number; readonly idleMs: number }): Waits => ({
  head: new IdleTimeouts(timeouts.firstByteMs),
  data: new IdleTimeouts(timeouts.idleMs),
});
