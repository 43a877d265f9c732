// A request body on its way through, unread: bounded in size and in silence.
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { Refusal } from '../refusal.ts';

export interface BodyBounds {
  readonly bytes: number;
  readonly idleMs: number;
}

export interface MeteredBody {
  readonly stream: Transform;
  /** Rejects when a bound was passed, and never resolves: a body that is whole is nobody's news. */
  readonly refused: Promise<never>;
}

/** @returns the body to hand on; `refused` rejects with Refusal `request_too_large` or `request_timeout` */
export function meteredBody(request: IncomingMessage, { bytes, idleMs }: BodyBounds): MeteredBody {
  const { promise: refused, reject } = Promise.withResolvers<never>();
  refused.catch(() => undefined);
  let passed = 0;
  const stop = (refusal: Refusal): void => {
    clearTimeout(idle);
    request.unpipe(stream);
    reject(refusal);
    stream.destroy();
  };
  const idle = setTimeout(() => stop(new Refusal('request_timeout')), idleMs);
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      passed += chunk.length;
      idle.refresh();
      if (passed > bytes) stop(new Refusal('request_too_large'));
      else done(null, chunk);
    },
    flush(done) {
      clearTimeout(idle);
      done();
    },
  });
  // Its end is told through `refused`; without a listener it would end the process.
  stream.on('error', () => undefined).once('close', () => clearTimeout(idle));
  request.once('close', () => {
    if (!request.complete) stream.destroy();
  });
  // Not `pipeline`: it would destroy the request, and with it the socket that a refusal has to go out on.
  request.pipe(stream);
  return { stream, refused };
}
