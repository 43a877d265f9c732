// Everything that relies on undocumented behaviour of Node or of a library, each with its reason and a test (test/base/process/node-internals.test.ts).
import { executionAsyncResource } from 'node:async_hooks';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import type { Dispatcher, Pool } from 'undici';
import type { WebSocket } from 'ws';
import { joinLast } from '../bytes/gathered-bytes.ts';

/**
 * undici keeps the raw headers on its controller, and with them the first chunk of the reply, for as long as the reply lasts. An idle
 * stream would hold that memory for headers that are not read again.
 */
export function releaseRawHeaders(controller: Dispatcher.DispatchController): void {
  controller.rawHeaders = null;
}

/** The parts of undici's connection that `passContinue` reaches, by the descriptions of their symbols. */
type Internals = Readonly<Record<symbol, unknown>>;
type InterimParser = { onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number };

const member = (object: unknown, symbol: string): unknown => {
  const found = Object.getOwnPropertySymbols(object).find(({ description }) => description === symbol);
  return found && (object as Internals)[found];
};

/**
 * undici ends the connection at a `100 Continue` that it did not ask for, which a server may nevertheless send (RFC 9110, 15.2.1).
 * Makes it an interim answer like any other, which the caller ignores.
 */
export function passContinue(pool: Pool): void {
  pool.on('connect', (_origin, targets) => {
    const parser = member(member(targets.at(-1), 'socket'), 'parser') as InterimParser;
    const { onHeadersComplete } = parser;
    parser.onHeadersComplete = (status, upgrade, keepAlive) =>
      onHeadersComplete.call(parser, status === 100 ? 102 : status, upgrade, keepAlive);
  });
}

/**
 * Node creates an object for each `process.nextTick`, about twenty for each turn. If a full garbage collection finds no such object, V8 drops
 * their hidden class and creates them on a slow path afterwards, which costs 3 % of a turn. One object is kept, so the class stays.
 */
export function keepTickObject(): void {
  process.nextTick(() => {
    tickObjects.push(executionAsyncResource());
  });
}

const tickObjects: object[] = [];

/**
 * Node sets a timer on the socket after every answer and clears it before the next request, about 5 % of a JSON turn. Idle client
 * connections are closed by a sweep instead.
 */
export function disableSocketTimeout(socket: Socket): void {
  socket.setTimeout = () => socket;
}

interface WriteQueue {
  readonly writeQueueSize: number;
}

/**
 * Bytes of the write under way that the system has not taken: a large one makes progress long before it ends. Over TLS a handle counts such a
 * write as a whole; that of the connection below it does not.
 */
export function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: (WriteQueue & { readonly _parent?: WriteQueue }) | null };
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0;
}

/** The connection under an open websocket; `ws` shows nothing of how far its frames have come. */
export const connectionUnder = (websocket: WebSocket): Socket | null =>
  (websocket as WebSocket & { readonly _socket: Socket | null })._socket;

interface Receiver {
  _buffers: Buffer[];
  _bufferedBytes: number;
  _fragments: Buffer[];
  _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void;
}

/**
 * `ws` keeps each read of an incomplete frame and each fragment of an incomplete message as it came: a fragment of one byte keeps a whole read
 * of 64 KiB. This joins them as they come.
 */
export function joinParts(websocket: WebSocket): void {
  const { _receiver: receiver } = websocket as WebSocket & { readonly _receiver: Receiver };
  const write = receiver._write.bind(receiver);
  let joined = 0;
  receiver._write = (chunk, encoding, done) => {
    write(chunk, encoding, done);
    const { _fragments: fragments } = receiver;
    if (fragments.length === 0) joined = 0;
    else if (fragments.length !== joined) {
      const added = fragments.splice(Math.min(joined, fragments.length));
      fragments.push(Buffer.concat(added));
      joinLast(fragments);
      joined = fragments.length;
    }
    joinLast(receiver._buffers);
  };
}

/**
 * `ws` keeps the parts of a message until it is whole, also after it has sent a close frame. This drops them and the bytes that arrive from
 * now on, and ends the connection after the written bytes: an answer to the close frame would not be seen.
 */
export function dropArrivals(websocket: WebSocket, socket: Socket): void {
  const { _receiver: receiver } = websocket as WebSocket & { readonly _receiver: Receiver };
  receiver._write = (_chunk, _encoding, done) => done();
  receiver._buffers = [];
  receiver._bufferedBytes = 0;
  receiver._fragments = [];
  socket.removeAllListeners('data').end();
  socket.resume();
}

/**
 * A paused request stops its connection only when its buffer is full, which counts bytes: chunks of one byte are 65,536 objects by then. This
 * stops the connection; what the parser has read already still arrives.
 * @returns reads on
 */
export function stopReading(request: IncomingMessage): () => void {
  const { socket } = request;
  const stopped: IncomingMessage & { [STOPS]?: number } = request;
  stopped[STOPS] = (stopped[STOPS] ?? 0) + 1;
  // Node calls it to read on when a consumer wants more.
  request._read = () => undefined;
  socket.pause();
  return () => {
    stopped[STOPS] = (stopped[STOPS] ?? 1) - 1;
    if (stopped[STOPS] > 0) return;
    delete (request as Partial<IncomingMessage>)._read;
    if (!socket.destroyed) request._read(0);
  };
}

/** By how many readers a connection is stopped. */
const STOPS = Symbol('stops');

/**
 * Of a connection that has more than the parser was given, the parser gets the rest when the body of this request is read: each chunk is an
 * object until then.
 */
export function awaitReader({ socket }: IncomingMessage): void {
  // Node resumes it for the first read of the request.
  if (socket.readableLength > 0) socket.pause();
}

/** A chunk of one byte has six on the wire: a part has less than two hundred. */
const PART_BYTES = 1_024;

/**
 * Node's parser reads 64 KiB of a connection at a time and goes through all of it, though it may have ten thousand chunks. From now on it gets
 * each read in parts, and what comes after the part in which the connection is stopped waits.
 */
export function readInParts({ socket }: IncomingMessage): void {
  if (Object.hasOwn(socket, 'push')) return;
  const pauses = socket.listeners('pause') as (() => void)[];
  const resumes = socket.listeners('resume') as (() => void)[];
  const ignore = (): void => undefined;
  // A listener makes the connection read by itself, and hand the parser what it has read. Node then takes off those that stop its reading.
  socket.on('data', ignore).off('data', ignore);
  for (const pause of pauses) socket.off('pause', pause).on('pause', pause);
  for (const resume of resumes) socket.off('resume', resume).on('resume', resume);
  socket.push = (chunk: Buffer | null): boolean => {
    let wantsMore = false;
    for (const part of chunk === null ? [null] : partsOf(chunk)) wantsMore = Socket.prototype.push.call(socket, part);
    return wantsMore;
  };
}

/** Puts bytes back that the parser is to have first, in such parts. */
export function unshiftInParts(socket: Socket, bytes: Buffer): void {
  for (const part of partsOf(bytes).reverse()) socket.unshift(part);
}

const partsOf = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / PART_BYTES) }, (_, i) => bytes.subarray(i * PART_BYTES, (i + 1) * PART_BYTES));

/**
 * Node writes each chunk of a chunked answer in four pieces, at twice the cost. Turns the encoding off after the head was written, so
 * that chunks can be framed by the writer.
 * @returns whether the answer is chunked
 */
export function takeOverChunking(response: ServerResponse): boolean {
  const chunked = response.chunkedEncoding;
  response.chunkedEncoding = false;
  return chunked;
}

/**
 * Node's answers have no documented way to end their connection once their headers are set by others: this makes the answer, written
 * or not, the last one of its connection.
 */
export function endConnectionAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/**
 * An answer to a pipelined request has no connection before the answers ahead of it are written. Node announces the connection with an
 * undocumented event, just before it sends what the answer has buffered.
 * @param then is called with the connection, at once or when it is announced; never if the connection ends before
 */
export function whenConnected(response: ServerResponse, then: (socket: Socket) => void): void {
  if (response.socket) then(response.socket);
  else response.once('socket', (socket: Socket) => process.nextTick(then, socket));
}

/** Whether the connection stays open after the answer. */
export const keepsConnection = (response: ServerResponse): boolean => response.shouldKeepAlive;

/**
 * Takes Node's parser away from the new connections of a server.
 * @returns hands a connection to the parser; bytes that were put back into it are parsed first
 */
export function takeOverConnections(server: Server, opened: (socket: Socket) => void): (socket: Socket) => void {
  // Of a server with TLS the other event is the library's own.
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection';
  const [parse] = server.listeners(event);
  if (parse) server.off(event, parse as () => void).on(event, opened);
  return (socket) => parse?.call(server, socket);
}

/** Whether the TLS handshake of a client socket is not finished; Node's types do not have the field. */
export const isHandshaking = (socket: Socket & { readonly secureConnecting?: boolean }): boolean => socket.secureConnecting === true;

/** The connection that a server's TLS socket was made on; Node's types do not have the field. */
export const connectionBelow = (socket: TLSSocket & { readonly _parent?: Socket }): Socket | undefined => socket._parent;

/** http-proxy-3 uses its `fetch` path if this variable is set, which hides client aborts, breaks gzip bodies and cuts live streams. */
export function disableFetchPath(): void {
  delete process.env.FORCE_FETCH_PATH;
}

/** The request that http-proxy-3 is given in the place of a client's: it has been received whole, and has no body. */
export function detachedRequest(method: string, path: string, headers: Readonly<Record<string, string>>): IncomingMessage {
  const request = new IncomingMessage(UNCONNECTED);
  request.method = method;
  request.url = path;
  request.headers = { ...headers };
  // Node destroys the socket of an incomplete request together with the request.
  request.complete = true;
  request.push(null);
  return request;
}

/** The answer that http-proxy-3 is given with it: nothing is written to it, because replies are handled by the caller. */
export const detachedResponse = (request: IncomingMessage): ServerResponse => new ServerResponse(request);

const UNCONNECTED = new Socket();
