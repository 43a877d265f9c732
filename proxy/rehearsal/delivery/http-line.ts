// An HTTP response as the connection that an answer is written to.
import type { ServerResponse } from 'node:http';
import type { SimulatedAnswer } from './answer.ts';
import { type Line, untilDone } from './delivery.ts';
import type { Leaving } from './delivery-steps.ts';

export interface HttpLineOptions {
  /** Aborts when the connection has closed. */
  readonly closed: AbortSignal;
  /** Called before the connection is ended by a fault. */
  onCut(): void;
}

export class HttpLine implements Line {
  readonly #response: ServerResponse;
  readonly #answer: SimulatedAnswer;
  readonly #options: HttpLineOptions;

  constructor(response: ServerResponse, answer: SimulatedAnswer, options: HttpLineOptions) {
    this.#response = response;
    this.#answer = answer;
    this.#options = options;
    response.cork();
  }

  head(): void {
    this.#response.writeHead(this.#answer.status, headersOf(this.#answer));
  }

  write({ bytes }: { readonly bytes: Buffer }): boolean {
    return this.#response.write(bytes);
  }

  /** Waits for headers too. */
  async flushed(): Promise<void> {
    const response = this.#response;
    const { closed } = this.#options;
    response.uncork();
    const { socket } = response;
    if (socket === null || closed.aborted) return;
    if (response.headersSent) response.flushHeaders();
    if (socket.writableLength > 0) await untilDone((done) => void socket.write('', done), closed);
    if (!closed.aborted) response.cork();
  }

  end(): void {
    this.#response.uncork();
    this.#response.end();
  }

  leave(how: Leaving): void {
    this.#options.onCut();
    if (how === 'reset') this.#response.socket?.resetAndDestroy();
    else this.#response.socket?.destroy();
  }
}

/** Adds a Content-Length if the whole body is known; a stream of events is chunked, also one that was scripted as bytes. */
function headersOf({ status, headers, body }: SimulatedAnswer): Record<string, string | number> {
  const isStream =
    body.kind === 'events' ||
    headers['content-type']?.startsWith('text/event-stream') === true ||
    headers['transfer-encoding'] === 'chunked';
  return isStream || status === 304 ? { ...headers } : { ...headers, 'content-length': body.bytes.length };
}
