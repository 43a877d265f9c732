// Reads one request body within its limits: size, expansion, idle time, and the memory of all bodies together.
import type { IncomingMessage } from 'node:http';
import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import type { Counters } from '../admin/counters.ts';
import type { Limits, Timeouts } from '../config/config.ts';
import { Refusal } from '../refusal.ts';

/** zlib's streams work on the thread pool, so a hostile body never blocks the event loop. */
const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
};

/** Small bodies may expand as they like: the ratio only guards what is worth guarding. */
const RATIO_FREE_BYTES = 65_536;

/** Bytes of bodies being read at once, over all clients (Q4). */
export class BodyGuard {
  held = 0;

  /** @returns whether there is room for `bytes` more. */
  take(bytes: number, limit: number): boolean {
    if (this.held + bytes > limit) return false;
    this.held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.held -= bytes;
  }
}

export interface BodyOptions {
  readonly limits: Limits;
  readonly timeouts: Timeouts;
  readonly guard: BodyGuard;
  readonly counters: Counters;
}

/**
 * The decoded body.
 * @throws Refusal `request_too_large`, `request_timeout`, `unsupported_content_encoding`, `server_is_overloaded`, or
 * `invalid_request` for bytes that do not decode and for a client that left.
 */
export function readBody(request: IncomingMessage, options: BodyOptions): Promise<Buffer> {
  const { limits, counters } = options;
  const coding = request.headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  const decoder = DECODERS[coding];
  if (!decoder && coding !== 'identity') return Promise.reject(new Refusal('unsupported_content_encoding'));
  const arriving = decoder ? limits.compressed_body_bytes : limits.request_body_bytes;
  if (Number(request.headers['content-length'] ?? 0) > arriving) {
    counters.add('bodies_too_large');
    return Promise.reject(new Refusal('request_too_large'));
  }
  return collect(request, decoder?.(), options);
}

function collect(request: IncomingMessage, decoder: Transform | undefined, options: BodyOptions): Promise<Buffer> {
  const { limits, timeouts, guard, counters } = options;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let arrived = 0;
    let decoded = 0;
    let done = false;
    const idle = setTimeout(() => fail('body_timeouts', new Refusal('request_timeout')), timeouts.client_body_idle_ms);

    const settle = (): boolean => {
      if (done) return false;
      done = true;
      clearTimeout(idle);
      guard.give(decoded);
      request.off('data', onArrived);
      return true;
    };
    const fail = (counter: 'body_timeouts' | 'bodies_too_large' | 'bodies_guard_refused' | undefined, refusal: Refusal): void => {
      if (!settle()) return;
      if (counter) counters.add(counter);
      if (decoder) {
        request.unpipe(decoder);
        decoder.destroy();
      }
      reject(refusal);
    };
    const onArrived = (chunk: Buffer): void => {
      arrived += chunk.length;
      idle.refresh();
      if (decoder && arrived > limits.compressed_body_bytes) fail('bodies_too_large', new Refusal('request_too_large'));
    };
    const onDecoded = (chunk: Buffer): void => {
      if (done) return;
      if (!guard.take(chunk.length, limits.bodies_in_memory_bytes)) {
        fail('bodies_guard_refused', new Refusal('server_is_overloaded'));
        return;
      }
      decoded += chunk.length;
      chunks.push(chunk);
      const bomb = decoder && decoded > RATIO_FREE_BYTES && decoded > arrived * limits.expansion_ratio;
      if (decoded > limits.request_body_bytes || bomb) fail('bodies_too_large', new Refusal('request_too_large'));
    };
    const onEnd = (): void => {
      const whole = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, decoded);
      if (settle()) resolve(whole);
    };

    request.on('data', onArrived);
    const gone = (): void => fail(undefined, new Refusal('invalid_request', { message: 'The request body ended early.' }));
    request.once('close', () => {
      if (!request.complete) gone();
    });
    if (!decoder) {
      request.on('data', onDecoded).once('end', onEnd).once('error', gone);
      return;
    }
    decoder.on('data', onDecoded).once('end', onEnd);
    decoder.once('error', () => fail(undefined, new Refusal('invalid_request', { message: 'The request body could not be decoded.' })));
    // Not `pipeline`: it would destroy the request, and with it the socket that the refusal has to go out on.
    request.pipe(decoder);
  });
}
