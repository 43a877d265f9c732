// The SSE stream of a native client. It writes the account's bytes as whole events, with one write per upstream chunk.
import type { ServerResponse } from 'node:http';
import { takeOverChunking } from '../../../base/process/internals/response-internals.ts';
import { Refusal } from '../../../turn/errors/refusal.ts';
import type { ReplyEvent } from '../../../turn/reply/reply-event.ts';
import { replyText } from '../../../turn/reply/reply-text.ts';
import type { Sink } from '../../../turn/reply/sink.ts';
import type { Event, Outcome } from '../../../turn/turn.ts';
import { breakOff } from './write-answer.ts';

const NOTHING: ReadonlySet<string> = new Set();

/** The headers of a stream. The last one is for nginx, which otherwise gathers some kilobytes of events before it passes them on. */
const HEADERS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' } as const;

const CRLF = '\r\n';
const LAST_CHUNK = `0${CRLF}${CRLF}`;

export class SseSink implements Sink {
  readonly wants: ReadonlySet<string> = NOTHING;
  readonly drops: ReadonlySet<string> = NOTHING;
  readonly collects = false;
  readonly objectCheck: Sink['objectCheck'] = 'none';
  protected readonly response: ServerResponse;
  /** Whether the answer is chunked. Its chunks are framed here. */
  #chunked = false;
  /** Whether the head is not sent yet. It is sent with the first chunk, or alone if a flush finds no chunk. */
  #headWaits = false;
  #parts: Buffer[] = [];
  /** The run of adjacent events in one buffer, which are written as one slice. */
  #run: Buffer | undefined;
  #runStart = 0;
  #runEnd = 0;

  constructor(response: ServerResponse) {
    this.response = response;
  }

  get shown(): boolean {
    return this.response.headersSent;
  }

  open(status: number, headers: Readonly<Record<string, string>>): void {
    this.response.writeHead(status, { ...HEADERS, ...headers });
    this.#chunked = takeOverChunking(this.response);
    this.#headWaits = true;
  }

  raw(event: ReplyEvent): void {
    if (this.#run === event.bytes && this.#runEnd === event.start) {
      this.#runEnd = event.end;
      return;
    }
    this.#endRun();
    this.#run = event.bytes;
    this.#runStart = event.start;
    this.#runEnd = event.end;
  }

  event(event: Event): void {
    this.write(`event: ${event.type}\ndata: ${replyText(event.data)}\n\n`);
  }

  renumber(): void {
    // Native clients get the account's own numbers (EV3).
  }

  flush(): boolean {
    this.#endRun();
    const parts = this.#parts;
    if (parts.length === 0 && this.#headWaits) this.response.flushHeaders();
    this.#headWaits = false;
    if (parts.length === 0) return !this.response.writableNeedDrain;
    this.#parts = [];
    return this.response.write(this.#chunked ? chunkOf(parts) : Buffer.concat(parts));
  }

  onDrain(resume: () => void): void {
    this.response.once('drain', resume);
  }

  conclude(): void {}

  close(closing: readonly (Event | Refusal)[], _outcome: Outcome): void {
    for (const last of closing) if (!(last instanceof Refusal)) this.event(last);
    this.flush();
    this.response.end(this.#chunked ? LAST_CHUNK : undefined);
  }

  /**
   * Ends the connection without the final chunk, so that no reader takes the stream for complete (Q17). Everything written so far still
   * arrives.
   */
  cut(): void {
    this.flush();
    breakOff(this.response);
  }

  protected write(text: string): void {
    this.append(Buffer.from(text));
  }

  /** Appends bytes, which must not change before they are flushed. */
  protected append(bytes: Buffer): void {
    this.#endRun();
    this.#parts.push(bytes);
  }

  #endRun(): void {
    if (!this.#run) return;
    this.#parts.push(this.#run.subarray(this.#runStart, this.#runEnd));
    this.#run = undefined;
  }
}

function chunkOf(parts: readonly Buffer[]): Buffer {
  let length = 0;
  for (const part of parts) length += part.length;
  const size = length.toString(16) + CRLF;
  const chunk = Buffer.allocUnsafe(size.length + length + CRLF.length);
  let at = chunk.write(size, 'latin1');
  for (const part of parts) at += part.copy(chunk, at);
  chunk.write(CRLF, at, 'latin1');
  return chunk;
}
