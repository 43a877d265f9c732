// The compatible surface's SSE stream: numbers without gaps, an end that says how it went.
import { eventDataOf, Refusal } from '../refusal.ts';
import type { Event, JsonObject, Outcome } from '../turn.ts';
import { dataOf, type SseEvent } from '../upstream/sse.ts';
import { SseSink } from './sse-sink.ts';

/** An idle stream says that it lives (Q17). */
const COMMENT_EVERY_MS = 15_000;

export class PublicSseSink extends SseSink {
  #comments: NodeJS.Timeout | undefined;
  /** The last event that carried on the numbering, unparsed until somebody needs its number. */
  #last: { readonly bytes: Buffer; readonly start: number; readonly end: number } | number | undefined;
  /** Set once numbers of our own are needed: the next one. */
  #next: number | undefined;

  override open(status: number, headers: Readonly<Record<string, string>>): void {
    super.open(status, headers);
    this.#comments = setInterval(() => this.response.write(': keepalive\n\n'), COMMENT_EVERY_MS);
    this.response.once('close', () => clearInterval(this.#comments));
  }

  override raw(event: SseEvent): void {
    if (!event.hasData) {
      super.raw(event);
      return;
    }
    if (event.dataStart >= 0 && isDone(event)) return;
    if (this.#next !== undefined) {
      const data = jsonOf(event);
      if (data) {
        this.event({ type: event.type, data });
        return;
      }
    }
    this.#last = { bytes: event.bytes, start: event.dataStart, end: event.dataEnd };
    super.raw(event);
  }

  override event(event: Event): void {
    const { data } = event;
    if (this.#next !== undefined && 'sequence_number' in data) {
      super.event({ type: event.type, data: { ...data, sequence_number: this.#next++ } });
      return;
    }
    if (typeof data.sequence_number === 'number') this.#last = data.sequence_number;
    super.event(event);
  }

  override renumber(): void {
    this.#next ??= this.#nextNumber();
  }

  override flush(): boolean {
    this.#comments?.refresh();
    return super.flush();
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    for (const last of closing) {
      if (last instanceof Refusal) this.write(`event: error\ndata: ${eventDataOf(last, this.#nextNumber())}\n\n`);
      else this.event(last);
    }
    if (outcome.kind === 'completed' || outcome.kind === 'incomplete') this.write('data: [DONE]\n\n');
    super.close([], outcome);
  }

  /** One after the last number that went out; parses one event, and only here. */
  #nextNumber(): number {
    if (this.#next !== undefined) return this.#next;
    const last = this.#last;
    if (last === undefined) return 0;
    if (typeof last === 'number') return last + 1;
    if (last.start < 0) return 0;
    try {
      const data = JSON.parse(last.bytes.toString('utf8', last.start, last.end)) as JsonObject | null;
      return typeof data?.sequence_number === 'number' ? data.sequence_number + 1 : 0;
    } catch {
      return 0;
    }
  }
}

const isDone = (event: SseEvent): boolean =>
  event.dataEnd - event.dataStart === 6 && event.bytes.toString('latin1', event.dataStart, event.dataEnd) === '[DONE]';

function jsonOf(event: SseEvent): JsonObject | undefined {
  try {
    const data: unknown = JSON.parse(dataOf(event));
    return typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
