// A request body on its way through, unread: bounded in size and in silence.
import type { IncomingMessage } from 'node:http';
import { Transform } from 'node:stream';
import { Refusal } from '../../turn/refusal.ts';
import { BODY_MALFORMED } from './request-body.ts';

export interface BodyBounds {
  readonly bytes: number;
  /** Longest silence of the client; the time in which the account takes nothing does not count. */
  readonly idleMs: number;
}

export interface MeteredBody {
  readonly stream: Transform;
  /** Rejects when a bound was passed, and never resolves: a body that is whole is nobody's news. */
  readonly refused: Promise<never>;
  /** Takes nothing more of the request: what is left of it is its answer's to drain. */
  detach(): void;
}

/** @returns the body to hand on; `refused` rejects with Refusal `request_too_large`, `request_timeout` or `invalid_request` */
export function meteredBody(request: IncomingMessage, { bytes, idleMs }: BodyBounds): MeteredBody {
  const { promise: refused, reject } = Promise.withResolvers<never>();
  refused.catch(() => undefined);
  let passed = 0;
  const detach = (): void => {
    clearTimeout(idle);
    request.off('close', closed).off(BODY_MALFORMED, malformed).unpipe(stream);
    stream.destroy();
  };
  const stop = (refusal: Refusal): void => {
    reject(refusal);
    detach();
  };
  const closed = (): void => {
    if (!request.complete) detach();
  };
  const malformed = (): void => stop(new Refusal('invalid_request', { message: 'The request body ended early.' }));
  const silent = (): void => {
    if (stream.writableNeedDrain) idle.refresh();
    else stop(new Refusal('request_timeout'));
  };
  const idle = setTimeout(silent, idleMs);
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
  stream.on('error', () => undefined).on('drain', () => idle.refresh());
  request.once('close', closed).once(BODY_MALFORMED, malformed);
  // Not `pipeline`: it would destroy the request, and with it the socket that a refusal has to go out on.
  request.pipe(stream);
  return { stream, refused, detach };
}
