// The client side of one HTTP turn: its answer, its stream, and the news that it left.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Client, Sink } from '../dispatch/sink.ts';
import type { LiveTurn } from '../live-turn.ts';
import { jsonOf, type Refusal } from '../refusal.ts';
import { CollectSink } from './collect-sink.ts';
import { PublicSseSink } from './public-sse-sink.ts';
import { SseSink } from './sse-sink.ts';

export class HttpClient implements Client {
  readonly streams: boolean;
  readonly #turn: LiveTurn;
  readonly #response: ServerResponse;

  constructor(turn: LiveTurn, response: ServerResponse, streams: 'stream' | 'answer') {
    this.#turn = turn;
    this.#response = response;
    this.streams = streams === 'stream';
  }

  sink(): Sink {
    if (this.#turn.native) return new SseSink(this.#response);
    return this.streams ? new PublicSseSink(this.#response) : new CollectSink(this.#turn, this);
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    writeAnswer(this.#response, status, headers, body);
  }

  onGone(aborted: () => void): () => void {
    const response = this.#response;
    if (response.destroyed) {
      aborted();
      return () => undefined;
    }
    const closed = (): void => {
      if (!response.writableFinished) aborted();
    };
    response.once('close', closed);
    return () => response.off('close', closed);
  }
}

export function writeAnswer(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer | string,
): void {
  if (response.destroyed || response.headersSent) return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

const DRAIN_BYTES = 65_536;
const DRAIN_MS = 1_000;

/**
 * Answers a refusal. A body that is still arriving is drained a little, so that the answer is not lost to a reset; then the
 * connection closes (Q4).
 */
export function writeRefusal(request: IncomingMessage, response: ServerResponse, refusal: Refusal, id: string): void {
  if (response.destroyed || response.headersSent) return;
  const body = jsonOf(refusal);
  const headers: Record<string, string | number> = {
    'content-type': 'application/json',
    ...refusal.headers,
    'x-request-id': id,
    'content-length': Buffer.byteLength(body),
  };
  const hasBody = request.headers['content-length'] !== undefined || request.headers['transfer-encoding'] !== undefined;
  if (request.complete || !hasBody) {
    response.writeHead(refusal.status, headers);
    response.end(body);
    return;
  }
  headers.connection = 'close';
  response.writeHead(refusal.status, headers);
  response.write(body);
  drain(request, () => response.end());
}

function drain(request: IncomingMessage, done: () => void): void {
  let left = DRAIN_BYTES;
  let over = false;
  const finish = (): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    request.off('data', count).off('end', finish).off('close', finish);
    request.pause();
    done();
  };
  const count = (chunk: Buffer): void => {
    left -= chunk.length;
    if (left <= 0) finish();
  };
  const timer = setTimeout(finish, DRAIN_MS);
  request.on('data', count).once('end', finish).once('close', finish);
  request.resume();
}
