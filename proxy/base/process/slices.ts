// Runs long work on large bodies in slices, with the rest of the event loop between them. The whole process runs one slice at a time, and
// keys alternate (Q38).
import { setImmediate } from 'node:timers';

/** The length of a slice. It ends at the first place after this time at which its work can pause. */
const SLICE_MS = 1;
/** The time for other work of the event loop before the next slice, as a multiple of the slice's time. */
const REST_TIMES = 2;
/** An iteration of the event loop that is shorter had no other work. */
const QUIET_MS = 0.2;

/** Grants slices. It asks for iterations of the event loop only while work waits. */
export class SliceTurns {
  /** The waiting work by key, in the order in which keys come next. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isScheduled = false;
  /** When the last iteration of the loop passed here. */
  #at = 0;
  #hasGranted = false;
  /** Milliseconds that remain for other work. */
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

  /** Runs once in each iteration of the event loop. */
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
    // Moves the key to the end.
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

  /** @param key the client's key */
  constructor(key: string, from = turns) {
    this.#key = key;
    this.#turns = from;
  }

  /** Call it wherever the work can pause, and before its first step. @returns undefined if the slice continues */
  pause(): Promise<void> | undefined {
    if (performance.now() - this.#began < SLICE_MS) return undefined;
    return this.#turns.next(this.#key).then(() => {
      this.#began = performance.now();
    });
  }
}
