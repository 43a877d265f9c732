// A clock for the tests' upstream that stands still until a test moves it.
import type { Clock } from '../../proxy/rehearsal/clock.ts';

interface Wait {
  readonly until: number;
  readonly finish: () => void;
}

export class ManualClock implements Clock {
  private at: number;
  private readonly waits = new Set<Wait>();
  private readonly watchers = new Set<() => void>();

  /** Default: a time that no test confuses with the real one. */
  constructor(at = Date.UTC(2030, 0, 1)) {
    this.at = at;
  }

  now(): number {
    return this.at;
  }

  wait(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const wait: Wait = {
        until: this.at + ms,
        finish: () => {
          this.waits.delete(wait);
          signal.removeEventListener('abort', wait.finish);
          resolve();
        },
      };
      signal.addEventListener('abort', wait.finish, { once: true });
      this.waits.add(wait);
      for (const watch of [...this.watchers]) watch();
    });
  }

  /** Moves time on, and ends the waits that are over by then. */
  advance(ms: number): void {
    this.at += ms;
    for (const wait of [...this.waits]) if (wait.until <= this.at) wait.finish();
  }

  /** Resolves as soon as that many waits are under way. */
  waiting(count = 1): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (this.waits.size < count) return;
        this.watchers.delete(watch);
        resolve();
      };
      this.watchers.add(watch);
      watch();
    });
  }
}
