// What the gateway changes inside `ws`: how it keeps a message that has not arrived completely, and how it unmasks one.
import type { Socket } from 'node:net';
import type { WebSocket } from 'ws';
import { freeRead, joinLast } from '../../bytes/gathered-bytes.ts';
import { applyMask, MASK_BYTES } from '../../bytes/websocket-mask.ts';

/** The connection under an open websocket. `ws` itself does not show how far its frames have been sent. */
export const connectionUnder = (websocket: WebSocket): Socket | null =>
  (websocket as WebSocket & { readonly _socket: Socket | null })._socket;

interface Receiver {
  _buffers: Buffer[];
  _bufferedBytes: number;
  _fragments: Buffer[];
  readonly _payloadLength: number;
  _mask: Buffer | undefined;
  getData(done: (error?: Error | null) => void): void;
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

/** Unmasks the frames of a client by words, which `ws` does by bytes. */
export function unmaskByWords(websocket: WebSocket): void {
  const { _receiver: receiver } = websocket as WebSocket & { readonly _receiver: Receiver };
  receiver.getData = getUnmasked;
}

/** The mask that changes nothing. */
const NO_MASK = Buffer.alloc(MASK_BYTES);

/** One function for all receivers, like `writeJoined`. A payload in several parts is left to `ws`. */
const getUnmasked: Receiver['getData'] = function (this: Receiver, done) {
  const [first] = this._buffers;
  if (this._mask && first && first.length >= this._payloadLength) {
    applyMask(first.subarray(0, this._payloadLength), this._mask);
    this._mask = NO_MASK;
  }
  (Object.getPrototypeOf(this) as Receiver).getData.call(this, done);
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
  socket.removeAllListeners('data').on('data', freeRead).end();
  socket.resume();
}
