// Runs one piece of long work at a time. Keys alternate, so that the work of one key does not wait for all work of another one (Q38).

interface Waiting {
  readonly begin: () => void;
}

export class OneAtATime {
  /** The waiting work by key, in the order in which keys come next. */
  readonly #keys = new Map<string, Waiting[]>();
  #isBusy = false;

  /** @param signal ends the wait @throws the signal's reason, or what the work throws */
  async run<Result>(key: string, signal: AbortSignal, work: () => Promise<Result>): Promise<Result> {
    if (this.#isBusy) await this.#turnOf(key, signal);
    else this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  #turnOf(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const own: Waiting = { begin };
      const leave = (): void => {
        this.#remove(key, own);
        reject(signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      signal.addEventListener('abort', leave, { once: true });
      const waiting = this.#keys.get(key);
      if (waiting) waiting.push(own);
      else this.#keys.set(key, [own]);
    });
  }

  #remove(key: string, own: Waiting): void {
    const left = this.#keys.get(key)?.filter((one) => one !== own) ?? [];
    if (left.length === 0) this.#keys.delete(key);
    else this.#keys.set(key, left);
  }

  #next(): void {
    const [next] = this.#keys;
    if (!next) {
      this.#isBusy = false;
      return;
    }
    const [key, [first, ...others]] = next;
    // Moves the key to the end.
    this.#keys.delete(key);
    if (others.length > 0) this.#keys.set(key, others);
    first?.begin();
  }
}
