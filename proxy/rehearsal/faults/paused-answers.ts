// Answers that a `stall` fault without a time has paused, until they are released.

interface PausedAnswer {
  readonly account: string;
  resume(): void;
}

export class PausedAnswers {
  readonly #paused = new Set<PausedAnswer>();
  readonly #listeners = new Set<() => void>();

  /** Resolves when the answer is released or the signal aborts. */
  pause(account: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const answer: PausedAnswer = {
        account,
        resume: () => {
          this.#paused.delete(answer);
          signal.removeEventListener('abort', answer.resume);
          resolve();
        },
      };
      signal.addEventListener('abort', answer.resume, { once: true });
      this.#paused.add(answer);
      for (const listener of [...this.#listeners]) listener();
    });
  }

  /** Resumes the answers of the account, or of all accounts. */
  release(account?: string): void {
    for (const answer of [...this.#paused]) if (account === undefined || answer.account === account) answer.resume();
  }

  count(account: string): number {
    return [...this.#paused].filter((answer) => answer.account === account).length;
  }

  /** Resolves when `count` answers of the account are paused at the same time. */
  whenPaused(account: string, count: number): Promise<void> {
    return new Promise((resolve) => {
      const listener = (): void => {
        if (this.count(account) < count) return;
        this.#listeners.delete(listener);
        resolve();
      };
      this.#listeners.add(listener);
      listener();
    });
  }
}
