// Where a reply's events go: one per client codec (SSE, collected JSON, websocket frames).
import type { Refusal } from '../turn/refusal.ts';
import type { Event, Outcome } from '../turn/turn.ts';
import type { SseEvent } from '../upstream/sse-splitter.ts';

export interface Sink {
  /** Event types that must come parsed, beside those that rules want. */
  readonly wants: ReadonlySet<string>;
  /** Event types that nobody gets from here, and that say nothing of the answer: never parsed, whatever rules want. */
  readonly drops: ReadonlySet<string>;
  /** Whether anything reached the client that cannot be taken back. */
  readonly shown: boolean;
  /** Commit: from here on nothing is tried again. */
  open(status: number, headers: Readonly<Record<string, string>>): void;
  /** An event as it came; its view is reused, so it is taken in before this returns. */
  raw(event: SseEvent): void;
  /** An event that rules made or changed, or that the sink wanted parsed. */
  event(event: Event): void;
  /** Rules dropped or added events: the upstream's sequence numbers hold no longer. */
  renumber(): void;
  /** Writes what came since the last flush, at once. False: the client is slow, wait for `onDrain`. */
  flush(): boolean;
  onDrain(resume: () => void): void;
  /** The reply ended. A sink that shows nothing before makes its answer here. @throws Refusal while nothing was shown */
  conclude(outcome: Outcome): void;
  /** Ends the client's reply, after the rules' closing events. */
  close(closing: readonly (Event | Refusal)[], outcome: Outcome): void;
  /** Ends it as a dead connection would, so that nobody takes it for whole. */
  cut(): void;
}

/** One client of one turn. */
export interface Client {
  /** Whether it asked for a stream. */
  readonly streams: boolean;
  /** Made when the first reply comes. */
  sink(): Sink;
  /** A whole answer. */
  answer(status: number, headers: Readonly<Record<string, string>>, body: Buffer | string): void;
  /** Runs `aborted` when the client leaves before its answer is whole; returns the undo. */
  onGone(aborted: () => void): () => void;
}
