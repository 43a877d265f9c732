// The client side of one HTTP turn: its answer, its stream, and the news that it left.
import type { ServerResponse } from 'node:http';
import type { Client, Sink } from '../../dispatch/sink.ts';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { onceGone } from './admitted.ts';
import { CollectSink } from './collect-sink.ts';
import { PublicSseSink } from './public-sse-sink.ts';
import { SseSink } from './sse-sink.ts';
import { writeAnswer } from './write-answer.ts';

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
    return this.streams ? new PublicSseSink(this.#response, this.#turn) : new CollectSink(this.#turn, this);
  }

  answer(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void {
    writeAnswer(this.#response, status, headers, body);
  }

  onGone(aborted: () => void): () => void {
    return onceGone(this.#response, aborted);
  }
}
