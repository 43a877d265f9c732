// The clock of one node. It can be set ahead; it can also be paused as by SIGSTOP, and then no timer runs until it continues.
import { ShiftedClock } from '../support/clocks/shifted-clock.ts';

export class PausableClock extends ShiftedClock {
  #paused: (() => void)[] | undefined;

  override after(ms: number, run: () => void): () => void {
    let cancelled = false;
    const cancel = super.after(ms, () => {
      const due = (): void => {
        if (!cancelled) run();
      };
      if (this.#paused) this.#paused.push(due);
      else due();
    });
    return () => {
      cancelled = true;
      cancel();
    };
  }

  pause(): void {
    this.#paused = [];
  }

  resume(): void {
    const due = this.#paused ?? [];
    this.#paused = undefined;
    for (const run of due) run();
  }
}
