// The interface of a turn's client for dispatch: a sink for a reply of events, an answer, a pipe, and a signal when it leaves.
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
  /** The headers for type, coding and framing. */
  readonly headers: Readonly<Record<string, string>>;
  /** Rejects with a Refusal when a limit is exceeded. Never resolves. */
  readonly refused: Promise<never>;
  /** Whether a part of it was read, after which no other attempt can send it (Q6). */
  isTaken(): boolean;
  /** Stops reading. Returns whether the client had sent everything. */
  detach(): boolean;
}

/**
 * Opens a body that is passed on, for one attempt.
 * @param map maps each field of a form for the account; absent if the account gets all fields
 */
export type OpenUpload = (map?: (field: FormField) => readonly StreamedPart[]) => Upload;

/** How a piped reply ended: completely, cut because the account died or fell silent, or without its client. */
export type PipeEnd = 'complete' | 'cut' | 'silent' | 'gone';

export interface PipeOptions {
  readonly status: number;
  readonly headers: AnswerHeaders;
  /** The longest silence of the account. Time in which the client is slow does not count. */
  readonly idleMs: number;
  /** Ends the request, because the account answered before it had read the whole upload. */
  readonly endUpload: () => void;
}

/** A running reply, for frames of its client that interrupt or steer the response (RB29, RB31). */
export interface LiveReply {
  /** The id of the response. Undefined before the account has stated it, and after the response has ended. */
  readonly responseId: string | undefined;
  readonly account: AccountConfig;
  readonly provider: ProviderApi;
  /** Sends a frame on the websocket that runs the response. Undefined if it runs over HTTP. */
  readonly send: ((frame: Buffer) => void) | undefined;
  /** Ends a response that runs over HTTP, in the same form as an account that was interrupted. */
  interrupt(): void;
}

/** The frames of a client about the response of its turn. */
export interface ReplyControls {
  /** Called when a reply has begun. A later attempt of the turn has a later reply. */
  began(reply: LiveReply): void;
  /** Reads an event that answers such a frame. @returns whether the client gets the event */
  answered(event: JsonObject): boolean;
  /** Called when the account has ended the response. @returns the reader of the frames that follow it, if it was steered */
  responseEnded(): FollowingFrames | undefined;
}

export interface Client {
  /** Undefined for a client that sends no frames about its reply. */
  readonly controls?: ReplyControls;
  /** The upstream websocket of the client's connection, if it is connected by a websocket. */
  readonly upstreamSocket?: SocketSlot;
  /** Whether the client asked for a stream. */
  readonly streams: boolean;
  /**
   * Makes the sink when a reply of events begins.
   * @param from `decoded`: the account's events were decoded, so a client which did not ask for a stream gets one answer on every
   * surface
   */
  sink(from?: 'decoded'): Sink;
  /** Sends a whole answer. */
  answer(status: number, headers: AnswerHeaders, body: Buffer | string): void;
  /** Pipes a reply to the client. */
  pipe(reply: IncomingMessage, options: PipeOptions): Promise<PipeEnd>;
  /**
   * Calls `left` if the client leaves before its answer is complete, or if the gateway stops its turn. The returned function cancels that. A
   * client that may reconnect has not left while its connection is down (Q29).
   */
  onGone(left: () => void): () => void;
  /** Whether the gateway has stopped the turn, because the time of its drain has passed. The client may still be connected. */
  readonly isStopped?: boolean;
}

/** The interface of a turn's client for the runner. */
export interface TurnClient extends Client {
  /** Whether anything of an answer was sent. */
  readonly shown: boolean;
  /** Whether the client left. */
  readonly gone: boolean;
  /** Reads the body that the route's kind accepts: JSON, or a form as JSON. @throws Refusal */
  json(): Promise<Body>;
  /** The milliseconds that the turn has run while its client was away. Undefined if the client never was. */
  readonly detachedMs?: number | undefined;
  /** Decoded size of that body; 0 before it was read. */
  readonly bodyBytes: number;
  /** Whether that body was parsed in slices. */
  readonly isLarge: boolean;
  /** Reads a multipart body that is held in memory. @throws Refusal */
  form(): Promise<readonly FormPart[]>;
  /** Reads a multipart body up to its file. The returned upload passes on the whole form, as the reader has mapped it. @throws Refusal */
  parts(reader: Required<PartReader>): Promise<OpenUpload>;
  /**
   * Checks the headers of a body that is passed on unread. The returned function starts to read it. Null if there is no body.
   * @throws Refusal
   */
  upload(): (() => Upload) | null;
  /** Sends a refusal. After a part of an answer was sent, it ends the connection instead. */
  refuse(refusal: Refusal): void;
  /** Ends the connection. */
  breakOff(): void;
}
