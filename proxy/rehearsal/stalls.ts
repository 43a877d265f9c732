// Answers that stand still until somebody releases them.

interface Availability {
  readonly account: string;
  go(): void;
}

export class Stalls {
  private readonly standing = new Set<Availability>();
  private readonly watchers = new Set<() => void>();

  /** Stands until it is released or the signal aborts. */
  stand(account: string, gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (gone.aborted) return resolve();
      const standing: Availability = {
        account,
        go: () => {
          this.standing.delete(standing);
          gone.removeEventListener('abort', standing.go);
          resolve();
        },
      };
      gone.addEventListener('abort', standing.go, { once: true });
      this.standing.add(standing);
      for (const watch of [...this.watchers]) watch();
    });
  }

  /** Lets every answer of the account, or of all accounts, go on. */
  release(account?: string): void {
    for (const standing of [...this.standing]) if (account === undefined || standing.account === account) standing.go();
  }

  /** How many answers of the account stand still now. */
  count(account: string): number {
    return [...this.standing].filter((standing) => standing.account === account).length;
  }

  /** Resolves as soon as that many answers of the account stand still at once. */
  reached(account: string, count: number): Promise<void> {
    return new Promise((resolve) => {
      const watch = (): void => {
        if (this.count(account) < count) return;
        this.watchers.delete(watch);
        resolve();
      };
      this.watchers.add(watch);
      watch();
    });
  }
}
