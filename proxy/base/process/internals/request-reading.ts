// How much of a request is read before its reader wants more. Node limits it by bytes, and each chunk of a byte is an object.
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

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
