// The compatible surface's SSE stream: numbers without gaps, an end that says how it went.
import type { ServerResponse } from 'node:http';
import type { LiveTurn } from '../../turn/live-turn.ts';
import { eventDataOf, Refusal } from '../../turn/refusal.ts';
import type { Event, Outcome } from '../../turn/turn.ts';
import { isDone, jsonOf, type SseEvent } from '../../upstream/sse-splitter.ts';
import { SseSink } from './sse-sink.ts';

/** An idle stream says that it lives (Q17). */
const COMMENT_EVERY_MS = 15_000;

const NUMBERED = '"sequence_number"';

export class PublicSseSink extends SseSink {
  readonly #turn: LiveTurn;
  #wroteAt = 0;
  #cancelComment: () => void = () => undefined;
  /** The last event with a number, unparsed until somebody needs it; or the number itself. */
  #last: Pick<SseEvent, 'bytes' | 'start' | 'end' | 'dataStart' | 'dataEnd'> | number | undefined;
  /** Whether events of a type bear numbers: looked up in the bytes of the first of them. */
  readonly #numbered = new Map<string, boolean>();
  /** Set once numbers of our own are needed: the next one. */
  #next: number | undefined;

  constructor(response: ServerResponse, turn: LiveTurn) {
    super(response);
    this.#turn = turn;
  }

  override open(status: number, headers: Readonly<Record<string, string>>): void {
    super.open(status, headers);
    this.#wroteAt = this.#turn.now();
    this.#commentIn(COMMENT_EVERY_MS);
    this.response.once('close', () => this.#cancelComment());
  }

  override raw(event: SseEvent): void {
    if (!event.hasData) {
      super.raw(event);
      return;
    }
    if (isDone(event)) return;
    if (this.#next !== undefined) {
      const data = jsonOf(event);
      if (data) {
        this.event({ type: event.type, data });
        return;
      }
    }
    if (this.#isNumbered(event)) {
      const { bytes, start, end, dataStart, dataEnd } = event;
      this.#last = { bytes, start, end, dataStart, dataEnd };
    }
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
    this.#wroteAt = this.#turn.now();
    return super.flush();
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    this.#cancelComment();
    for (const last of closing) {
      if (last instanceof Refusal) this.write(`event: error\ndata: ${eventDataOf(last, this.#nextNumber())}\n\n`);
      else this.event(last);
    }
    if (outcome.kind === 'completed' || outcome.kind === 'incomplete') this.write('data: [DONE]\n\n');
    super.close([], outcome);
  }

  override cut(): void {
    this.#cancelComment();
    super.cut();
  }

  /** Re-armed rather than reset by every write: writes are many, silences few. */
  #commentIn(ms: number): void {
    this.#cancelComment = this.#turn.after(ms, () => {
      const due = this.#wroteAt + COMMENT_EVERY_MS - this.#turn.now();
      if (due <= 0) {
        this.write(': keepalive\n\n');
        this.flush();
      }
      this.#commentIn(due > 0 ? due : COMMENT_EVERY_MS);
    });
  }

  #isNumbered({ type, bytes, start, end }: SseEvent): boolean {
    const known = type === '' ? undefined : this.#numbered.get(type);
    if (known !== undefined) return known;
    const found = bytes.subarray(start, end).includes(NUMBERED);
    this.#numbered.set(type, found);
    return found;
  }

  /** One after the last number that went out; parses one event, and only here. */
  #nextNumber(): number {
    if (this.#next !== undefined) return this.#next;
    const last = this.#last;
    if (last === undefined) return 0;
    const number = typeof last === 'number' ? last : jsonOf(last)?.sequence_number;
    return typeof number === 'number' ? number + 1 : 0;
  }
}
