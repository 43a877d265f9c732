// Pipes a reply unread to an HTTP client. The account may have answered before it read the whole upload.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { endConnectionAfter } from '../../../base/process/internals/response-internals.ts';
import type { PipeEnd, PipeOptions } from '../../../dispatch/client.ts';
import { limitSilence } from '../../../upstream/carriers/stream-body.ts';
import { breakOff, drain } from './write-answer.ts';

export async function pipeAnswer(reply: IncomingMessage, response: ServerResponse, options: PipeOptions): Promise<PipeEnd> {
  const { req: request } = response;
  const early = hasBody(request) && !request.complete;
  if (early) endConnectionAfter(response);
  response.writeHead(options.status, options.headers);
  // Sent now, because the first bytes of the body may come much later than the head.
  if (reply.readableLength === 0 && !reply.complete) response.flushHeaders();
  let end: PipeEnd = 'gone';
  // If the client leaves first, this makes the reply fail.
  reply.once('error', () => {
    if (!response.destroyed && end === 'gone') end = 'cut';
  });
  limitSilence(reply, {
    ms: options.idleMs,
    reader: response,
    timedOut: () => {
      end = 'silent';
    },
  });
  try {
    await (early ? pipeline(reply, draining(request, options.endUpload), response) : pipeline(reply, response));
    return 'complete';
  } catch {
    breakOff(response);
    return end;
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Reads the rest of the upload before the answer ends, so that the client reads the answer and gets no reset. */
function draining(request: IncomingMessage, endUpload: () => void): Transform {
  return new Transform({
    transform: (chunk, _encoding, done) => done(null, chunk),
    flush(done) {
      if (request.complete) return done();
      endUpload();
      return drain(request, done);
    },
  });
}
