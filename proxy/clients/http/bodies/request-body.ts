// Reads one request body within its limits: size, expansion, silence, and the memory of all bodies together.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { BodyShare } from '../../../base/bytes/body-memory.ts';
import { GatheredBytes, type Gathering } from '../../../base/bytes/gathered-bytes.ts';
import { JOINED_AT_ONCE, joinInParts } from '../../../base/bytes/join-in-parts.ts';
import { StatedBytes } from '../../../base/bytes/stated-bytes.ts';
import type { CounterName, Counters } from '../../../base/process/metrics.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { Limits, Timeouts } from '../../../turn/settings.ts';
import { BodyArrival } from './body-arrival.ts';
import { ZstdFramesDecoder } from './zstd-frames.ts';

/** A decoder. `bytesWritten` is the number of input bytes that it has used. */
type Decoder = Transform & { readonly bytesWritten: number };

/** The decoders by content coding. zlib's streams work on the thread pool, so that a hostile body cannot block the event loop. */
const DECODERS: ReadonlyMap<string, () => Decoder> = new Map<string, () => Decoder>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
  ['br', createBrotliDecompress],
  ['zstd', () => new ZstdFramesDecoder()],
]);

const LATE = 'The request body took too long.';

export interface BodyOptions {
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  /** The memory for bodies of the client's key. */
  readonly share: BodyShare;
  readonly counters: Counters;
  /** Called when the checks of the headers have passed. */
  readonly begin: () => void;
}

/**
 * The decoded body.
 * @throws Refusal `request_too_large`, `request_timeout`, `unsupported_content_encoding`, `server_is_overloaded`, or `invalid_request` for
 * bytes that cannot be decoded and for a client that left
 */
export async function readBody(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  const { limits, counters } = options;
  const decoder = decoderOf(request);
  const arriving = decoder ? limits.compressed_body_bytes : limits.request_body_bytes;
  if (Number(request.headers['content-length'] ?? 0) > arriving) {
    counters.add('bodies_too_large');
    throw new Refusal('request_too_large');
  }
  options.begin();
  if (!decoder && request.headers['content-length'] !== undefined) {
    // Waits until the parser has read what it has of the body. Most bodies arrive with their head, and need no listeners.
    await undefined;
    if (hasArrived(request)) return taken(request, options);
  }
  return collect(request, decoder?.(), options);
}

/** Makes the decoder of the body's coding; undefined for a plain body. @throws Refusal `unsupported_content_encoding` */
export function decoderOf({ headers }: IncomingMessage): (() => Decoder) | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase() || 'identity';
  const decoder = DECODERS.get(coding);
  if (!decoder && coding !== 'identity') throw new Refusal('unsupported_content_encoding');
  return decoder;
}

/** Marks a request whose whole body was taken from what had arrived. */
const TAKEN = Symbol('taken');

interface Request extends IncomingMessage {
  [TAKEN]?: true;
}

/** Whether a body of stated length has arrived and waits to be read. */
const hasArrived = (request: IncomingMessage): boolean =>
  request.headers['content-length'] !== undefined && request.readableLength === Number(request.headers['content-length']);

/** Whether the whole request has arrived. Node's parser sets `complete` a moment after the last byte of the body. */
export const isWhole = (request: Request): boolean => request.complete || request[TAKEN] === true;

/** Reads and drops a body that has arrived whole. Returns whether it had. */
export function discard(request: Request): boolean {
  if (!hasArrived(request)) return false;
  request[TAKEN] = true;
  request.read();
  return true;
}

function taken(request: Request, { limits, share, counters }: BodyOptions): Buffer {
  if (!share.makeRoom(request.readableLength, limits.bodies_in_memory_bytes)) {
    counters.add('bodies_guard_refused');
    throw new Refusal('server_is_overloaded');
  }
  request[TAKEN] = true;
  return (request.read() as Buffer | null) ?? Buffer.alloc(0);
}

function collect(request: IncomingMessage, decoder: Decoder | undefined, options: BodyOptions): Promise<Buffer> {
  const { limits, timeouts, share, counters } = options;
  return new Promise((resolve, reject) => {
    const stated = request.headers['content-length'];
    const gathered = new GatheredBytes();
    const chunks: Gathering = decoder || stated === undefined ? gathered : new StatedBytes(Number(stated));
    const held = share.body(() => fail(new Refusal('server_is_overloaded'), 'bodies_displaced'));
    let done = false;
    let joining: AbortController | undefined;
    const late = setTimeout(() => fail(new Refusal('request_timeout', { message: LATE }), 'bodies_late'), timeouts.client_body_ms);

    const settle = (): boolean => {
      if (done) return false;
      done = true;
      clearTimeout(late);
      held.give();
      arrival.stop();
      request.off('data', onDecoded).off('end', onEnd);
      if (decoder) {
        request.unpipe(decoder);
        decoder.destroy();
      }
      return true;
    };
    const fail = (refusal: Refusal, counter?: CounterName): void => {
      if (!settle()) return;
      // Cleared because a client that continues to send keeps the request in memory.
      chunks.clear();
      joining?.abort();
      if (counter) counters.add(counter);
      reject(refusal);
    };
    const garbled = (): void => fail(new Refusal('invalid_request', { message: 'The request body could not be decoded.' }));
    const cutShort = (): void => fail(new Refusal('invalid_request', { message: 'The request body ended early.' }));
    const onDecoded = (chunk: Buffer<ArrayBuffer>): void => {
      if (done) return;
      const size = chunks.length + chunk.length;
      const bomb = decoder && arrival.isBomb(size, limits.expansion_ratio);
      if (size > limits.request_body_bytes || bomb) {
        fail(new Refusal('request_too_large'), 'bodies_too_large');
        return;
      }
      // A decoder uses the rest of its buffer for the next chunk. Node's parser makes a buffer for each.
      const grown = decoder ? gathered.add(chunk) : chunks.addRead(chunk);
      if (!held.take(grown, limits.bodies_in_memory_bytes)) fail(new Refusal('server_is_overloaded'), 'bodies_guard_refused');
    };
    const onEnd = (): void => {
      // Bytes after the compressed data do not belong to it, and another reader might take them for the body.
      if (decoder && decoder.bytesWritten < arrival.bytes) garbled();
      else if (chunks.uncopied > JOINED_AT_ONCE) join();
      else if (settle()) resolve(chunks.take());
    };
    const join = (): void => {
      arrival.stop();
      joining = new AbortController();
      joinInParts(chunks, share.key, joining.signal).then(
        (body) => settle() && resolve(body),
        // The failure has ended the body already.
        () => undefined,
      );
    };

    const arrival = new BodyArrival(request, {
      idleMs: timeouts.client_body_idle_ms,
      smallPieces: limits.body_small_pieces,
      counters,
      key: share.key,
      // On a busy machine the decoder may have to wait for a thread.
      isBusy: () => decoder !== undefined && (request.complete || decoder.writableLength > 0),
      arrived: () => {
        if (decoder && arrival.bytes > limits.compressed_body_bytes) fail(new Refusal('request_too_large'), 'bodies_too_large');
      },
      // `complete` is not used, because it is true as soon as the bytes have reached this process, and a client may leave after that.
      closed: () => {
        if (!arrival.hasEnded) cutShort();
      },
      malformed: cutShort,
      refuse: fail,
    });
    if (!decoder) {
      request.on('data', onDecoded).once('end', onEnd);
      return;
    }
    decoder.on('data', onDecoded).once('end', onEnd).on('error', garbled);
    // `pipeline` is not used, because it would destroy the request, and with it the socket on which the refusal is written.
    request.pipe(decoder);
  });
}

const asked = new WeakSet<IncomingMessage>();

/** Whether the client waits for `100 Continue` before it sends its body (Q4). HTTP/1.0 has no interim answers. */
export function waitsForContinue(request: IncomingMessage): boolean {
  return request.headers.expect !== undefined && request.httpVersionMinor > 0 && !asked.has(request);
}

/** Asks for the body, after all checks of the headers have passed. */
export function askForBody(request: IncomingMessage, response: ServerResponse): void {
  if (!waitsForContinue(request)) return;
  asked.add(request);
  response.writeContinue();
}
