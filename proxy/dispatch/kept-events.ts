// The events of a detached reply: kept in order up to a limit, replayed to the next sink, and from then on passed to it.
import type { Refusal } from '../turn/refusal.ts';
import type { ReplyEvent } from '../turn/reply-event.ts';
import { replyText } from '../turn/reply-text.ts';
import type { Event, Head, Outcome } from '../turn/turn.ts';
import type { DetachedReply, Sink } from './client.ts';

export interface KeptEventsOptions {
  readonly head: Head;
  /** Bytes of kept events; one more cancels the reply. */
  readonly maxBytes: number;
  /** Called once, when the limit was passed. */
  readonly overflow: () => void;
}

const NONE: ReadonlySet<string> = new Set();

export class KeptEvents implements Sink, DetachedReply {
  readonly wants = NONE;
  readonly drops = NONE;
  /** Its client had been shown the beginning. */
  readonly shown = true;
  readonly #options: KeptEventsOptions;
  #kept: ((sink: Sink) => void)[] = [];
  #bytes = 0;
  #sink: Sink | undefined;

  constructor(options: KeptEventsOptions) {
    this.#options = options;
  }

  attach(sink: Sink): void {
    this.#sink = sink;
    const kept = this.#kept;
    this.#kept = [];
    this.#bytes = 0;
    const { status, headers } = this.#options.head;
    sink.open(status, headers);
    for (const replay of kept) replay(sink);
    sink.flush();
  }

  /** A reply is open before it can be detached. */
  open(): void {}

  raw(event: ReplyEvent): void {
    if (this.#sink) {
      this.#sink.raw(event);
      return;
    }
    // The view is reused, and a slice would keep the whole chunk that it lies in.
    const copy = event.copy();
    copy.bytes = Buffer.from(event.bytes.subarray(event.start, event.end));
    copy.start = 0;
    copy.end = event.length;
    if (event.dataStart >= 0) {
      copy.dataStart = event.dataStart - event.start;
      copy.dataEnd = event.dataEnd - event.start;
    }
    this.#pass((sink) => sink.raw(copy), copy.length);
  }

  event(event: Event): void {
    this.#pass((sink) => sink.event(event), this.#sink ? 0 : replyText(event.data).length);
  }

  renumber(): void {
    this.#pass((sink) => sink.renumber(), 0);
  }

  flush(): boolean {
    return this.#sink?.flush() ?? true;
  }

  onDrain(resume: () => void): void {
    this.#sink?.onDrain(resume);
  }

  conclude(outcome: Outcome, refusal: () => Refusal): void {
    this.#sink?.conclude(outcome, refusal);
  }

  close(closing: readonly (Event | Refusal)[], outcome: Outcome): void {
    this.#pass((sink) => sink.close(closing, outcome), 0);
  }

  cut(): void {
    this.#pass((sink) => sink.cut(), 0);
  }

  #pass(call: (sink: Sink) => void, bytes: number): void {
    if (this.#sink) {
      call(this.#sink);
      return;
    }
    this.#kept.push(call);
    this.#bytes += bytes;
    if (this.#bytes <= this.#options.maxBytes) return;
    // The rest of a cancelled reply never comes: a sink that takes it later is cut, and no memory is held for it.
    this.#kept = [(sink) => sink.cut()];
    this.#options.overflow();
  }
}
