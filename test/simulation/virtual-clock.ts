// The clock of the simulation, which jumps from one timer to the next. Timers of one moment run in the order in which they were set.
import type { Clock } from '../../proxy/base/time/clock.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  run: (() => void) | undefined;
}

const isBefore = (a: Timer, b: Timer): boolean => a.at < b.at || (a.at === b.at && a.order < b.order);

/** A binary heap holds the timers, because a day of a busy Pool has a million of them. */
export class VirtualClock implements Clock {
  readonly #heap: Timer[] = [];
  #now: number;
  #order = 0;

  constructor(start: number) {
    this.#now = start;
  }

  now(): number {
    return this.#now;
  }

  wallTime(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#order++, run };
    this.#push(timer);
    return () => {
      timer.run = undefined;
    };
  }

  /** Runs the next timer; returns false if there is none before `end`. */
  step(end: number): boolean {
    for (;;) {
      const next = this.#heap[0];
      if (!next || next.at > end) return false;
      this.#pop();
      if (!next.run) continue;
      this.#now = next.at;
      next.run();
      return true;
    }
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.push(timer) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(timer, heap[parent] as Timer)) break;
      heap[at] = heap[parent] as Timer;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Timer;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child += 1;
      if (!isBefore(heap[child] as Timer, last)) break;
      heap[at] = heap[child] as Timer;
      at = child;
    }
    heap[at] = last;
  }
}
