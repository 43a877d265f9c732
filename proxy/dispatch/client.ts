// The client of one turn as dispatch sees it: a sink for a reply of events, an answer, a pipe, and the signal that it left.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Refusal } from '../turn/errors/refusal.ts';
import type { FormField, FormPart, StreamedPart } from '../turn/json/form.ts';
import type { JsonObject } from '../turn/json/json.ts';
import type { ProviderApi } from '../turn/provider/provider-api.ts';
import type { Sink } from '../turn/reply/sink.ts';
import type { PartReader } from '../turn/rules/rule.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Body } from '../turn/turn.ts';
import type { FollowingFrames } from '../upstream/carriers/websocket/following-frames.ts';
import type { SocketSlot } from '../upstream/carriers/websocket/socket-slot.ts';

type AnswerHeaders = Readonly<Record<string, string>>;

/** A request body that is passed on unread. It can be read once. */
export interface Upload {
  readonly stream: Readable;
  /** Its type, coding and framing. */
  readonly headers: Readonly<Record<string, string>>;
  /** Rejects with a Refusal when a limit was passed; never resolves. */
  readonly refused: Promise<never>;
  /** Whether any of it was read: then no other attempt can send it (Q6). */
  isTaken(): boolean;
  /** Stops reading. Returns whether the client had sent everything. */
  detach(): boolean;
}

/** Opens a body that is passed on, for one attempt. @param map what the account gets of each field of a form; absent for one that gets all */
export type OpenUpload = (map?: (field: FormField) => readonly StreamedPart[]) => Upload;

/** How a piped reply ended: complete, cut because the account died or fell silent, or without its client. */
export type PipeEnd = 'complete' | 'cut' | 'silent' | 'gone';

export interface PipeOptions {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** Longest silence of the account; a slow client's time does not count. */
  readonly idleMs: number;
  /** Ends the request: the account answered before it had read the whole upload. */
  readonly endUpload: () => void;
}

/** A reply while it runs, for the frames of its client that interrupt or steer the response (RB29, RB31). */
export interface LiveReply {
  /** The response; undefined until the account has named it, and again once it has ended. */
  readonly responseId: string | undefined;
  readonly account: AccountConfig;
  readonly provider: ProviderApi;
  /** Sends a frame on the websocket that runs the response; undefined where it runs over HTTP. */
  readonly send: ((frame: Buffer) => void) | undefined;
  /** Ends a response that runs over HTTP, in the form in which an account ends an interrupted one. */
  interrupt(): void;
}

/** The frames of a client about the response of its turn. */
export interface ReplyControls {
  /** A reply has begun. A later attempt of the turn has a later reply. */
  began(reply: LiveReply): void;
  /** Reads an event that answers such a frame. @returns whether the client gets the event */
  answered(event: JsonObject): boolean;
  /** The account has ended the response. @returns the reader of the frames that follow it, where it was steered */
  responseEnded(): FollowingFrames | undefined;
}

export interface Client {
  /** Undefined for a client that sends no frames about its reply. */
  readonly controls?: ReplyControls;
  /** The upstream websocket of its connection, where it is connected by one. */
  readonly upstreamSocket?: SocketSlot;
  /** Whether it asked for a stream. */
  readonly streams: boolean;
  /**
   * Made when a reply of events begins. @param from `decoded`: the account sends events in any case, so that a client which did not ask for
   * a stream gets one answer on every surface
   */
  sink(from?: 'decoded'): Sink;
  /** A whole answer. */
  answer(status: number, headers: AnswerHeaders, body: Buffer | string): void;
  /** Pipes a reply to the client. */
  pipe(reply: IncomingMessage, options: PipeOptions): Promise<PipeEnd>;
  /**
   * Calls `left` once when the client leaves before its answer is complete; the function it returns cancels that. A client that may
   * come back for its reply has not left while its connection is down (Q29).
   */
  onGone(left: () => void): () => void;
}

/** The client of one turn as its runner sees it. */
export interface TurnClient extends Client {
  /** Whether anything of an answer was sent. */
  readonly shown: boolean;
  /** Whether the client left. */
  readonly gone: boolean;
  /** Reads the body that the route's kind accepts: JSON, or a form as JSON. @throws Refusal */
  json(): Promise<Body>;
  /** Milliseconds so far that the turn ran while its client was away; undefined where it never was. */
  readonly detachedMs?: number | undefined;
  /** Decoded size of that body; 0 before it was read. */
  readonly bodyBytes: number;
  /** Whether that body was parsed in slices. */
  readonly isLarge: boolean;
  /** Reads a multipart body that is held whole. @throws Refusal */
  form(): Promise<readonly FormPart[]>;
  /**
   * Reads a multipart body up to its file; the returned upload passes the whole form on, as the reader has mapped it.
   * @throws Refusal
   */
  parts(reader: Required<PartReader>): Promise<OpenUpload>;
  /**
   * Checks the headers of a body that is passed on unread; the returned function starts reading it. Null where there is no body. @throws
   * Refusal
   */
  upload(): (() => Upload) | null;
  /** Sends a refusal; after a part of an answer was sent, ends the connection instead. */
  refuse(refusal: Refusal): void;
  /** Ends the connection. */
  breakOff(): void;
}
