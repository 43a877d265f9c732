// Writes whole answers and refusals to HTTP clients, drains or ends the rest of the request, and gives up answers that cannot be finished.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { keepsConnection, whenConnected } from '../../../base/process/node-internals.ts';
import type { Refusal } from '../../../turn/errors/refusal.ts';
import { discard, isWhole } from '../bodies/request-body.ts';
import { waitsForContinue } from '../connections/expect-continue.ts';

export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer | string,
): void {
  if (response.destroyed || response.headersSent) return;
  // These have no content; a Content-Length would state that of the answer with content.
  if (status === 204 || status === 304) response.writeHead(status, headers).end();
  else {
    const all: Record<string, string | number> = Object.assign(body.length > 0 ? { 'content-type': 'application/json' } : {}, headers);
    const bytes = Buffer.byteLength(body);
    all['content-length'] = bytes;
    finish(response, status, all, { body, encoding: encodingOf(body, bytes) });
  }
}

/** The limits to which a body that still arrives is read, so that the answer is not lost to a reset (Q4). */
const DRAIN_BYTES = 65_536;
const DRAIN_MS = 1_000;
/** Of a body in small pieces. They are parsed already, and would stay in memory as an object each for the rest of the time (Q38). */
const DRAIN_PIECES = 1_024;

export function writeRefusal(response: ServerResponse, refusal: Refusal, id: string): void {
  if (response.destroyed || response.headersSent) return;
  const body = refusal.json;
  const bytes = Buffer.byteLength(body);
  const all: Record<string, string | number> = Object.assign(
    { 'content-type': 'application/json', 'content-length': bytes, 'x-request-id': id },
    refusal.headers,
  );
  // A Connection header among those of the refusal would keep the connection open.
  if (all.connection !== undefined && !keepsConnection(response)) all.connection = `${all.connection}, close`;
  finish(response, refusal.status, all, { body, encoding: encodingOf(body, bytes) });
}

interface Content {
  readonly body: Buffer | string;
  readonly encoding: BufferEncoding;
}

/** ASCII text has the same bytes in both encodings, and `latin1` is written without the UTF-8 encoder. */
const encodingOf = (body: Buffer | string, bytes: number): BufferEncoding => (body.length === bytes ? 'latin1' : 'utf8');

/** The rest of a short request body is read and the connection kept; after any other it is closed. */
function finish(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | number>>,
  { body, encoding }: Content,
): void {
  const { req: request } = response;
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (isWhole(request) || (length === undefined && coding === undefined)) {
    response.writeHead(status, headers).end(body, encoding);
  } else if (waitsForContinue(request)) {
    response.writeHead(status, { ...headers, connection: 'close' }).end(body, encoding);
  } else if (keepsConnection(response) && Number(length) <= DRAIN_BYTES) {
    // The parser first reads the part of the body that it has: most bodies arrive with their head and leave nothing to drain.
    queueMicrotask(() => {
      const whole = discard(request);
      response.writeHead(status, headers).end(body, encoding);
      if (!whole) drain(request, () => request.complete || destroyAfter(response));
    });
  } else {
    response.writeHead(status, { ...headers, connection: 'close' }).write(body, encoding);
    drain(request, () => response.end());
  }
}

/** The answer may still wait for the answers of earlier requests, whose connection it has in common with them. */
function destroyAfter(response: ServerResponse): void {
  const { req: request } = response;
  if (response.writableFinished) request.destroy();
  else response.once('finish', () => request.destroy());
}

/**
 * Gives up an answer: what was written of it still arrives, then its connection ends. Node drops the end of an answer that waits for an
 * earlier one, and its client would wait for the rest.
 */
export function breakOff(response: ServerResponse): void {
  whenConnected(response, (socket) => socket.destroySoon());
  if (!response.socket) response.destroy();
}

/**
 * After the byte limit the request is no longer read, but its client has the rest of the time to read the answer. After the limit of pieces it is
 * done at once.
 */
export function drain(request: IncomingMessage, done: () => void): void {
  let left = DRAIN_BYTES;
  let pieces = 0;
  const stop = (): void => {
    clearTimeout(timer);
    request.off('data', count).off('end', stop).off('close', stop);
    done();
  };
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    pieces += 1;
    if (pieces > DRAIN_PIECES) stop();
    else if (left < 0) request.pause();
  };
  const timer = setTimeout(stop, request.destroyed ? 0 : DRAIN_MS);
  request.on('data', count).once('end', stop).once('close', stop).resume();
}
