// Long work on large bodies runs in slices, with the rest of the event loop between them: one slice at a time in the whole process, however
// many bodies there are, and the keys take turns (Q38).
import { setImmediate } from 'node:timers';

/** A slice ends at the first place after this time where its work can pause. */
const SLICE_MS = 1;
/** What else the loop has gets up to so many times the time of a slice before the next one. */
const REST_TIMES = 2;
/** A turn of the loop that is shorter had nothing else to do. */
const QUIET_MS = 0.2;

/** Grants slices. It asks for turns of the loop only while work waits. */
export class SliceTurns {
  /** In the order in which keys come next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;
  /** When the last turn of the loop passed here. */
  #at = 0;
  #hasGranted = false;
  /** Milliseconds that other work may still have. */
  #rest = 0;

  /** Resolves when the next slice of the key begins. */
  next(key: string): Promise<void> {
    return new Promise((begin) => {
      const own = this.#waiting.get(key);
      if (own) own.push(begin);
      else this.#waiting.set(key, [begin]);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      this.#at = performance.now();
      setImmediate(this.#pass);
    });
  }

  /** Runs once in each turn of the loop. */
  readonly #pass = (): void => {
    const now = performance.now();
    const took = now - this.#at;
    this.#at = now;
    if (this.#hasGranted) this.#rest = REST_TIMES * took;
    else this.#rest = took < QUIET_MS ? 0 : this.#rest - took;
    this.#hasGranted = this.#rest <= 0 && this.#grant();
    this.#isScheduled = this.#hasGranted || this.#waiting.size > 0;
    if (this.#isScheduled) setImmediate(this.#pass);
    else this.#rest = 0;
  };

  #grant(): boolean {
    const [next] = this.#waiting;
    if (!next) return false;
    const [key, [begin, ...others]] = next;
    // Behind all other keys.
    this.#waiting.delete(key);
    if (others.length > 0) this.#waiting.set(key, others);
    begin?.();
    return true;
  }
}

const turns = new SliceTurns();

/** Resolves when the next slice of the key begins. */
export const nextSlice = (key: string): Promise<void> => turns.next(key);

/** The long work on one body. */
export class SlicedWork {
  readonly #key: string;
  readonly #turns: SliceTurns;
  #began = Number.NEGATIVE_INFINITY;

  /** @param key of the client */
  constructor(key: string, from = turns) {
    this.#key = key;
    this.#turns = from;
  }

  /** To be called wherever the work can pause, also before its first step. @returns undefined where its slice goes on */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#began < SLICE_MS) return undefined;
    return this.#turns.next(this.#key).then(() => {
      this.#began = performance.now();
    });
  }
}
