// Writes whole answers and refusals to HTTP clients, reads or drops the rest of the request, and gives up answers that cannot be finished.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { keepsConnection, whenConnected } from '../../../base/process/internals/response-internals.ts';
import type { Refusal } from '../../../turn/errors/refusal.ts';
import { discard, isWhole, waitsForContinue } from '../bodies/request-body.ts';

export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer | string,
): void {
  if (response.destroyed || response.headersSent) return;
  // These answers have no content. A Content-Length would state the length of another answer.
  if (status === 204 || status === 304) response.writeHead(status, headers).end();
  else {
    const all: Record<string, string | number> = Object.assign(body.length > 0 ? { 'content-type': 'application/json' } : {}, headers);
    const bytes = Buffer.byteLength(body);
    all['content-length'] = bytes;
    finish(response, status, all, { body, encoding: encodingOf(body, bytes) });
  }
}

/** The limit up to which a body that still arrives is read, so that the answer is not lost by a reset (Q4). */
const DRAIN_BYTES = 65_536;
const DRAIN_MS = 1_000;
/** The limit for small pieces, which are parsed already and would stay in memory as one object each (Q38). */
const DRAIN_PIECES = 1_024;

export function writeRefusal(response: ServerResponse, refusal: Refusal, id: string): void {
  if (response.destroyed || response.headersSent) return;
  const body = refusal.json;
  const bytes = Buffer.byteLength(body);
  const all: Record<string, string | number> = Object.assign(
    { 'content-type': 'application/json', 'content-length': bytes, 'x-request-id': id },
    refusal.headers,
  );
  // A Connection header in the refusal would keep the connection open.
  if (all.connection !== undefined && !keepsConnection(response)) all.connection = `${all.connection}, close`;
  finish(response, refusal.status, all, { body, encoding: encodingOf(body, bytes) });
}

interface Content {
  readonly body: Buffer | string;
  readonly encoding: BufferEncoding;
}

/** The encoding for a text. ASCII has the same bytes in both encodings, and `latin1` is written without the UTF-8 encoder. */
const encodingOf = (body: Buffer | string, bytes: number): BufferEncoding => (body.length === bytes ? 'latin1' : 'utf8');

/** Ends an answer. The connection is kept if the rest of the request's body is short and was read, and otherwise closed. */
function finish(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string | number>>,
  { body, encoding }: Content,
): void {
  const { req: request } = response;
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (isWhole(request) || (length === undefined && coding === undefined)) {
    // Node would make the body flow, which costs more.
    discard(request);
    response.writeHead(status, headers).end(body, encoding);
  } else if (waitsForContinue(request)) {
    response.writeHead(status, { ...headers, connection: 'close' }).end(body, encoding);
  } else if (keepsConnection(response) && Number(length) <= DRAIN_BYTES) {
    // The parser first reads what it has of the body. Most bodies arrive with their head, and leave nothing to read.
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

/** Destroys a connection after the answer, which may still wait for the answers to earlier requests on it. */
function destroyAfter(response: ServerResponse): void {
  const { req: request } = response;
  if (response.writableFinished) request.destroy();
  else response.once('finish', () => request.destroy());
}

/**
 * Gives up an answer. What was written of it still arrives, then its connection ends. Node drops the end of an answer that waits for an
 * earlier one, so the client would wait for the rest.
 */
export function breakOff(response: ServerResponse): void {
  whenConnected(response, (socket) => socket.destroySoon());
  if (!response.socket) response.destroy();
}

/**
 * Reads the rest of a request. After the limit of bytes the request is no longer read, but the client has the rest of the time to read the
 * answer. After the limit of pieces it ends at once.
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
