// The interface between dispatch and the libraries that carry bytes to accounts.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { CarrierFailure } from '../../turn/errors/failure.ts';
import type { Refusal } from '../../turn/errors/refusal.ts';
import type { PathRoot } from '../../turn/provider/reads.ts';
import type { HeldBytes } from '../../turn/reply/held-bytes.ts';
import type { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { ReplyEnd } from '../../turn/reply/terminal-event.ts';
import type { Headers } from '../../turn/turn.ts';
import type { FollowingFrames } from './following-frames.ts';

/** Answers with a status of 1xx before the answer itself: they are skipped, and a reply with more of them than this is malformed. */
export const MAX_INTERIM_ANSWERS = 16;

export interface CarrierRequest {
  readonly method: string;
  /** Absolute path with any query, below the account's base URL. */
  readonly path: string;
  /** `origin`: the path begins at the root of the account's host. Default: at its base URL. */
  readonly from?: PathRoot;
  /** The whole set. */
  readonly headers: Readonly<Record<string, string>>;
  /** A stream can be sent once. Null for methods without a body. */
  readonly body: string | Buffer | Readable | null;
}

/** Receives one reply: `head` or `fail`, then its reader gets the body. Nothing is called after `abort`. */
export interface ReplyHandler<Reader> {
  /** The status and headers; the returned reader gets the body. */
  head(status: number, headers: Headers): Reader;
  /** The reply failed before its head. */
  fail(failure: CarrierFailure): void;
}

/** A reader gets the body, then exactly one of these calls. A reply of events ends with its terminal event, or with its connection (RB16). */
interface BodyEnd {
  end(): void;
  fail(failure: CarrierFailure): void;
}

/** Reads events: an SSE stream is split by its carrier, a websocket frame is an event. */
export interface EventReader extends BodyEnd {
  readonly reads: 'events';
  /** The chunks of an event that has not ended count here, and the event itself while it is read; past a limit the reply ends with `too_large`. */
  readonly memory: Pick<HeldBytes, 'hold' | 'release'>;
  /**
   * The reader of a body whose first byte shows that it is no stream of events; undefined if the body is read as events anyway. A
   * provider may send streams without a content type (RB16).
   */
  readonly asBytes?: (() => ByteReader | undefined) | undefined;
  /** The reply is no answer, and its client gets this refusal if nothing was shown; the account is not at fault. Absent if replies are not decoded. */
  refuse?(refusal: Refusal): void;
  /** The view is reused for the next event. @returns the end of the reply, announced by this event or an earlier one */
  event(event: ReplyEvent): ReplyEnd | undefined;
  /** All events of one read of the connection have been delivered. */
  delivered(): void;
}

/** Reads bytes as they come. */
export interface ByteReader extends BodyEnd {
  readonly reads: 'bytes';
  data(chunk: Buffer): void;
}

/** Takes the reply as a stream and pipes it on. The stream reports its end and its failure; `fail` is never called. */
export interface StreamReader {
  readonly reads: 'stream';
  stream(reply: IncomingMessage): void;
}

/** The hold on a reply under way. */
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
