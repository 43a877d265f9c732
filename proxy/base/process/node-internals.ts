// All code that relies on undocumented behaviour of Node or of a library. Each function has its reason and a test
// (test/base/process/node-internals.test.ts).
import { executionAsyncResource } from 'node:async_hooks';
import { IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { type TLSSocket, Server as TlsServer } from 'node:tls';
import type { Dispatcher, Pool } from 'undici';
import type { WebSocket } from 'ws';
import { joinLast } from '../bytes/gathered-bytes.ts';

/**
 * Drops the raw headers that undici keeps on its controller, together with the first chunk of the reply, while the reply lasts. An idle
 * stream would hold that memory, although the headers are not read again.
 */
export function releaseRawHeaders(controller: Dispatcher.DispatchController): void {
  controller.rawHeaders = null;
}

/** The parts of undici's connection that `passContinue` uses, by the descriptions of their symbols. */
type Internals = Readonly<Record<symbol, unknown>>;
type InterimParser = { onHeadersComplete(status: number, upgrade: boolean, keepAlive: boolean): number };

const member = (object: unknown, symbol: string): unknown => {
  const found = Object.getOwnPropertySymbols(object).find(({ description }) => description === symbol);
  return found && (object as Internals)[found];
};

/**
 * Makes `100 Continue` an interim answer, which the caller ignores. undici ends the connection at one that it did not ask for, although a
 * server may send it (RFC 9110, 15.2.1).
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
 * Keeps one object of the kind that Node creates for each `process.nextTick`, about twenty times per turn. If a full garbage collection
 * finds no such object, V8 drops their hidden class, and later creates them on a slow path, which costs 3 % of a turn.
 */
export function keepTickObject(): void {
  process.nextTick(() => {
    tickObjects.push(executionAsyncResource());
  });
}

const tickObjects: object[] = [];

/**
 * Disables the timer that Node sets on the socket after every answer and clears before the next request. It costs about 5 % of a JSON turn.
 * A sweep closes idle client connections instead.
 */
export function disableSocketTimeout(socket: Socket): void {
  socket.setTimeout = ignoreTimeout;
}

/** One function for all sockets, because a closure for each would need memory as long as it is connected. */
function ignoreTimeout(this: Socket): Socket {
  return this;
}

interface WriteQueue {
  readonly writeQueueSize: number;
}

/**
 * The bytes of the current write that the system has not taken, which show the progress of a large write. A handle with TLS counts such a
 * write only as a whole, so that the handle below it is asked.
 */
export function unsentBytes(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: (WriteQueue & { readonly _parent?: WriteQueue }) | null };
  return (handle?._parent ?? handle)?.writeQueueSize ?? 0;
}

/** The connection under an open websocket. `ws` itself does not show how far its frames have been sent. */
export const connectionUnder = (websocket: WebSocket): Socket | null =>
  (websocket as WebSocket & { readonly _socket: Socket | null })._socket;

interface Receiver {
  _buffers: Buffer[];
  _bufferedBytes: number;
  _fragments: Buffer[];
  _write(chunk: Buffer, encoding: BufferEncoding, done: (error?: Error | null) => void): void;
  /** The number of its fragments that are joined. */
  [JOINED]?: number;
}

const JOINED = Symbol('joined');

/**
 * Joins the parts that `ws` keeps of an incomplete frame or message. Without this, a fragment of one byte keeps a read of 64 KiB in memory.
 */
export function joinParts(websocket: WebSocket): void {
  const { _receiver: receiver } = websocket as WebSocket & { readonly _receiver: Receiver };
  receiver._write = writeJoined;
}

/** One function for all receivers, because a closure for each would need memory as long as it is connected. */
const writeJoined: Receiver['_write'] = function (this: Receiver, chunk, encoding, done) {
  (Object.getPrototypeOf(this) as Receiver)._write.call(this, chunk, encoding, done);
  const { _fragments: fragments, [JOINED]: joined = 0 } = this;
  if (fragments.length !== joined) {
    const added = fragments.splice(Math.min(joined, fragments.length));
    if (added.length > 0) fragments.push(Buffer.concat(added));
    joinLast(fragments);
    this[JOINED] = fragments.length;
  }
  joinLast(this._buffers);
};

/**
 * Drops the parts of an incomplete message and the bytes that arrive from now on, and ends the connection after the written bytes. `ws`
 * would keep the parts even after it has sent a close frame. The answer to that frame is not awaited.
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
 * Stops the connection of a request from being read. A paused request does this only when its buffer is full, which counts bytes: with
 * chunks of one byte it would hold 65,536 objects. What the parser has read already still arrives.
 * @returns a function that continues reading
 */
export function stopReading(request: IncomingMessage): () => void {
  const { socket } = request;
  const stopped: IncomingMessage & { [STOPS]?: number } = request;
  stopped[STOPS] = (stopped[STOPS] ?? 0) + 1;
  // Node calls this function to continue reading when a consumer wants more.
  request._read = () => undefined;
  socket.pause();
  return () => {
    stopped[STOPS] = (stopped[STOPS] ?? 1) - 1;
    if (stopped[STOPS] > 0) return;
    delete (request as Partial<IncomingMessage>)._read;
    if (!socket.destroyed) request._read(0);
  };
}

/** The number of readers that have stopped a connection. */
const STOPS = Symbol('stops');

/** The parts of a socket that `awaitReader` uses. */
interface WaitingSocket extends Omit<Socket, 'push'> {
  readonly _handle?: { reading: boolean; readStart(): void } | null;
  /** Parts that were read are null. */
  readonly _readableState: { readonly buffer: readonly (Buffer | null)[] };
  push?: (chunk: Buffer | null) => boolean;
}

/**
 * Delays the rest of the bytes of a connection until the body of this request is read, because the parser makes an object of each chunk. The
 * connection is still read, up to the size of its buffer, so that a client that leaves before the end of its body is noticed. Its connection
 * is then closed.
 */
export function awaitReader({ socket }: IncomingMessage): void {
  // Node resumes it for the first read of the request.
  if (socket.readableLength === 0) return;
  socket.pause();
  const waiting = socket as WaitingSocket;
  const { _handle: handle } = waiting;
  if (!handle) return;
  // Node's server stops the connection with the pause.
  handle.reading = true;
  handle.readStart();
  waiting.push = (chunk) => {
    if (chunk !== null || mayHaveLastChunk(waiting._readableState.buffer)) return Socket.prototype.push.call(socket, chunk);
    socket.destroy();
    return false;
  };
  const resumed = (): void => {
    // A resumption from before the pause is announced after it.
    if (socket.isPaused()) return;
    socket.off('resume', resumed);
    delete waiting.push;
  };
  socket.on('resume', resumed);
}

/** Whether the last chunk of a body may be among bytes that were not parsed. It may have begun in the part before them. */
function mayHaveLastChunk(parts: readonly (Buffer | null)[]): boolean {
  const bytes = Buffer.concat(parts.filter((part) => part !== null)).toString('latin1');
  return bytes.endsWith('\r\n\r\n') || bytes.length < LAST_CHUNK.length || /(?:^|\n)0+[;\r]/.test(bytes);
}

const LAST_CHUNK = '0\r\n\r\n';

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
 * Turns off the chunked encoding after the head was written, so that the writer can frame the chunks. Node writes each chunk in four
 * pieces, at twice the cost.
 * @returns whether the answer is chunked
 */
export function takeOverChunking(response: ServerResponse): boolean {
  const chunked = response.chunkedEncoding;
  response.chunkedEncoding = false;
  return chunked;
}

/** Makes an answer, written or not, the last one of its connection. Node has no documented way to do this after the headers were set. */
export function endConnectionAfter(response: ServerResponse): void {
  response.shouldKeepAlive = false;
}

/**
 * Calls back with the connection of an answer. The answer to a pipelined request has none until the answers before it are written. Node
 * announces it with an undocumented event, just before it sends what the answer has buffered.
 * @param then called with the connection, at once or when it is announced; never if the connection ends before
 */
export function whenConnected(response: ServerResponse, then: (socket: Socket) => void): void {
  if (response.socket) then(response.socket);
  else response.once('socket', (socket: Socket) => process.nextTick(then, socket));
}

/** Whether the connection stays open after the answer. */
export const keepsConnection = (response: ServerResponse): boolean => response.shouldKeepAlive;

/**
 * Takes over new connections of a server before Node's parser gets them.
 * @returns a function that passes a connection to the parser; bytes that were put back are parsed first
 */
export function takeOverConnections(server: Server, opened: (socket: Socket) => void): (socket: Socket) => void {
  // With TLS, the other event belongs to the library.
  const event = server instanceof TlsServer ? 'secureConnection' : 'connection';
  const [parse] = server.listeners(event);
  if (parse) server.off(event, parse as () => void).on(event, opened);
  return (socket) => parse?.call(server, socket);
}

/** Whether the TLS handshake of a client socket has not finished. Node's types lack the field. */
export const isHandshaking = (socket: Socket & { readonly secureConnecting?: boolean }): boolean => socket.secureConnecting === true;

/** The connection below a server's TLS socket. Node's types lack the field. */
export const connectionBelow = (socket: TLSSocket & { readonly _parent?: Socket }): Socket | undefined => socket._parent;

/**
 * Unsets the variable with which http-proxy-3 uses its `fetch` path. That path hides client aborts, breaks gzip bodies and cuts live
 * streams.
 */
export function disableFetchPath(): void {
  delete process.env.FORCE_FETCH_PATH;
}

/** The request that http-proxy-3 gets instead of a client's request. It counts as received completely, and has no body. */
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

/** The answer that http-proxy-3 gets with that request. Nothing is written to it, because the caller handles replies. */
export const detachedResponse = (request: IncomingMessage): ServerResponse => new ServerResponse(request);

const UNCONNECTED = new Socket();
