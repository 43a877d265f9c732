// One websocket to an account: its upgrade, its frames, and the exchange that runs on it.
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { clientFrame } from '../../../base/bytes/frame-bytes.ts';
import type { Batches } from '../../../base/process/batch.ts';
import type { Heartbeat } from '../../../base/process/heartbeat.ts';
import { connectionUnder, joinParts } from '../../../base/process/internals/ws-internals.ts';
import type { LivePin } from '../../../turn/continuation.ts';
import type { CarrierFailure } from '../../../turn/errors/failure.ts';
import { TooMuchHeld } from '../../../turn/reply/held-bytes.ts';
import type { Headers } from '../../../turn/turn.ts';
import type { EgressRoute } from '../../egress/route.ts';
import { connectionFailure } from '../connection-failure.ts';
import { type KeptResponse, KeptResponses } from './kept-responses.ts';
import { PartialFrame } from './partial-frame.ts';
import type { SocketUser } from './socket-user.ts';

export interface UpstreamSocketOptions {
  /** The absolute URL, http or https. */
  readonly url: string;
  /** The headers of the upgrade. */
  readonly headers: Readonly<Record<string, string>>;
  /** The credential in the headers. */
  readonly authorization: string | undefined;
  /** The longest time until the account accepts or refuses the upgrade. */
  readonly connectMs: number;
  /** Undefined for a direct connection. */
  readonly route: EgressRoute | undefined;
  /** A larger frame ends the connection with `too_large`. */
  readonly maxFrameBytes: number;
  readonly heartbeat: Heartbeat;
  readonly batches: Batches;
}

/** The error code of a provider that limits the duration of a connection. It comes as the answer to a turn, or between two turns (RB28). */
export const CONNECTION_LIMIT = 'websocket_connection_limit_reached';

/** The close code for a frame that was larger than the account accepts. */
const FRAME_TOO_LARGE = 1009;
/** The most fragments in a message of an account. A reply with more is malformed. */
const MAX_FRAGMENTS = 4_096;

export class UpstreamSocket {
  /** The credential that the account accepted. */
  readonly authorization: string | undefined;
  /** The session id of the upgrade, if it has one. */
  readonly session: string | undefined;
  readonly #ws: WebSocket;
  readonly #batches: Batches;
  /** Responses that a turn may continue on this connection. */
  readonly #responses = new KeptResponses();
  /** The pin of the last response. */
  #pin: LivePin | undefined;
  #user: SocketUser | undefined;
  readonly #partial = new PartialFrame();
  /** The headers of the answer to the upgrade, until the first reply takes them. */
  #headers: Headers = {};
  #failure: CarrierFailure | undefined;
  #isRetired = false;

  constructor(options: UpstreamSocketOptions) {
    const { url, headers, authorization, connectMs, route, maxFrameBytes, heartbeat } = options;
    this.authorization = authorization;
    this.session = headers['session-id'];
    const ws = new WebSocket(url.replace(/^http/, 'ws'), {
      headers,
      handshakeTimeout: connectMs,
      maxPayload: maxFrameBytes,
      maxFragments: MAX_FRAGMENTS,
      perMessageDeflate: false,
      ...route?.websocket(connectMs),
    });
    this.#ws = ws;
    this.#batches = options.batches;
    ws.on('upgrade', ({ headers: answered }) => {
      this.#headers = joinedHeaders(answered);
    });
    ws.on('open', () => this.#opened(heartbeat));
    ws.on('unexpected-response', (_request, response) => {
      if (this.#user) this.#user.refused(response);
      else response.destroy();
    });
    ws.on('message', (data: Buffer, isBinary) => this.#message(data, isBinary));
    // 'close' follows every error.
    ws.on('error', (error) => {
      this.#failure ??= failureOf(error);
    });
    ws.on('close', (code) => this.#closed(code));
  }

  get isOpen(): boolean {
    return this.#ws.readyState === WebSocket.OPEN;
  }

  /** The headers of the answer to the upgrade. They belong to the first reply, and are returned once. */
  takeHeaders(): Headers {
    const headers = this.#headers;
    this.#headers = {};
    return headers;
  }

  /** Remembers a response that a later turn may continue on this connection. */
  keepResponse({ pin, ...response }: KeptResponse & { readonly pin?: LivePin | undefined }): void {
    this.#pin?.followed();
    this.#pin = pin;
    if (!this.isOpen) this.#over();
    this.#responses.add(response);
  }

  response(id: string): KeptResponse | undefined {
    return this.#responses.get(id);
  }

  get user(): SocketUser | undefined {
    return this.#user;
  }

  use(user: SocketUser): void {
    this.#user = user;
  }

  /** Ends the user's exchange. The connection stays open for the next one, unless it is retired. */
  leave(): void {
    this.#partial.release(this.#user?.memory);
    this.#user = undefined;
    if (this.#isRetired) this.close();
  }

  /** Ends the connection with a close frame, after a running exchange. */
  retire(): void {
    this.#isRetired = true;
    if (!this.#user) this.close();
  }

  send(frame: Buffer): void {
    const write = (): void => {
      // `ws` itself would mask the bytes one by one.
      if (this.isOpen) connectionUnder(this.#ws)?.write(clientFrame(frame));
    };
    this.#batches.departures.add(write, frame.length);
  }

  pause(): void {
    this.#ws.pause();
  }

  resume(): void {
    this.#ws.resume();
  }

  /** Ends the connection with a close frame. A user that it has is removed. */
  close(): void {
    this.#partial.release(this.#user?.memory);
    this.#user = undefined;
    this.#over();
    this.#ws.close();
  }

  /** Ends the connection immediately. Nothing is called afterwards. */
  destroy(): void {
    this.#partial.release(this.#user?.memory);
    this.#user = undefined;
    this.#over();
    this.#ws.terminate();
  }

  onClose(closed: () => void): void {
    this.#ws.on('close', closed);
  }

  #opened(heartbeat: Heartbeat): void {
    const ws = this.#ws;
    heartbeat.watch(ws);
    joinParts(ws);
    // Added before the listener of ws, which delivers the frames that a chunk completes.
    connectionUnder(ws)?.prependListener('data', (chunk: Buffer) => this.#arrived(chunk.length));
    this.#user?.opened();
  }

  /** Bytes between two turns do not count. */
  #arrived(bytes: number): void {
    if (!this.#user || this.#failure) return;
    try {
      this.#partial.add(bytes, this.#user.memory);
    } catch (thrown) {
      if (!(thrown instanceof TooMuchHeld)) throw thrown;
      this.#end('too_large');
    }
  }

  #message(data: Buffer, isBinary: boolean): void {
    this.#partial.release(this.#user?.memory);
    // Frames after a broken frame in the same read still arrive. They are dropped, because without the broken one the reply would look
    // complete.
    if (this.#failure) return;
    if (isBinary) {
      this.#end('malformed');
      return;
    }
    const user = this.#user;
    // Frames that arrive after the end of a reply do not belong to the next turn.
    this.#batches.arrivals.add(() => {
      if (this.#isReadFor(user)) this.#user?.frame(data);
      else if (!this.#user && data.includes(CONNECTION_LIMIT)) this.close();
    }, data.length);
  }

  #closed(code: number): void {
    this.#batches.arrivals.flush();
    this.#over();
    this.#partial.release(this.#user?.memory);
    const user = this.#user;
    this.#user = undefined;
    user?.ended(this.#failure ?? (code === FRAME_TOO_LARGE ? 'frame_too_large' : 'network'));
  }

  /** Whether the current user reads frames that came for this user. */
  #isReadFor(user: SocketUser | undefined): boolean {
    return user !== undefined && (this.#user === user || this.#user?.follows === user);
  }

  /** Ends the continuity of the connection. No turn can continue its responses after that. */
  #over(): void {
    this.#pin?.ended();
    this.#pin = undefined;
  }

  #end(failure: CarrierFailure): void {
    this.#failure = failure;
    this.#ws.terminate();
  }
}

function failureOf(error: NodeJS.ErrnoException): CarrierFailure {
  const { code = '', message } = error;
  if (code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH') return 'too_large';
  if (code.startsWith('WS_ERR_')) return 'malformed';
  // ws has no error code for this.
  if (message.includes('handshake has timed out')) return 'connect_timeout';
  return connectionFailure(error);
}

/** Joins repeated headers into one value. */
export function joinedHeaders(headers: IncomingMessage['headers']): Headers {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]));
}
