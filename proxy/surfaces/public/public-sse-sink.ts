// The SSE stream of the compatible surface. Its numbers have no gaps, comments are sent while it is idle, and its end is marked.
import { KeepaliveSseSink } from '../../clients/http/replies/keepalive-sse-sink.ts';
import { errorEvent, Refusal } from '../../turn/errors/refusal.ts';
import { ReplyEvent } from '../../turn/reply/reply-event.ts';
import type { Event, Outcome } from '../../turn/turn.ts';

/** The most types that are remembered. It is more than there are types of events. */
const MAX_TYPES = 256;

const NUMBERED = '"sequence_number"';

export class PublicSseSink extends KeepaliveSseSink {
  /** The last event with a number, which is parsed only when the number is needed, or the number itself. */
  #last: ReplyEvent | number | undefined;
  readonly #lastEvent = new ReplyEvent();
  /** Whether events of a type have numbers, as the first event of the type showed. */
  readonly #numbered = new Map<string, boolean>();
  /** The next number, set when the account's numbers no longer hold. */
  #next: number | undefined;

  override raw(event: ReplyEvent): void {
    if (!event.hasData) {
      super.raw(event);
      return;
    }
    if (event.isDone()) return;
    if (this.#next !== undefined) {
      const data = event.json();
      if (data) {
        this.event({ type: event.type, data });
        return;
      }
    }
    if (this.#isNumbered(event)) this.#last = event.copy(this.#lastEvent);
    super.raw(event);
  }

  override event(event: Event): void {
    const { data } = event;
    // Providers may omit the sequence number of an error event. Here every error has one (Q2).
    const isError = event.type === 'error';
    if (isError && data.sequence_number === undefined) this.renumber();
    if (this.#next !== undefined && (isError || 'sequence_number' in data)) {
      super.event({ type: event.type, data: { ...data, sequence_number: this.#next++ } });
      return;
    }
    if (typeof data.sequence_number === 'number') this.#last = data.sequence_number;
    super.event(event);
  }

  override renumber(): void {
    this.#next ??= this.#nextNumber();
  }

  override close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    for (const last of closing) {
      if (last instanceof Refusal) super.event(errorEvent(last.error, this.#nextNumber()));
      else this.event(last);
    }
    if (outcome.kind === 'completed' || outcome.kind === 'incomplete') this.write('data: [DONE]\n\n');
    super.close([], outcome);
  }

  #isNumbered({ type, bytes, start, end }: ReplyEvent): boolean {
    const known = type === '' ? undefined : this.#numbered.get(type);
    if (known !== undefined) return known;
    const found = bytes.subarray(start, end).includes(NUMBERED);
    // Limited, because types are text of a provider.
    if (this.#numbered.size < MAX_TYPES) this.#numbered.set(type, found);
    return found;
  }

  /** The number after the last one that was written. Only here that event is parsed. */
  #nextNumber(): number {
    if (this.#next !== undefined) return this.#next;
    const last = this.#last;
    if (last === undefined) return 0;
    const number = typeof last === 'number' ? last : last.json()?.sequence_number;
    return typeof number === 'number' ? number + 1 : 0;
  }
}
