// Runs long work on large bodies in slices, with the rest of the event loop between them. The whole process runs one slice at a time, and
// keys alternate (Q38).
import { setImmediate, setTimeout } from 'node:timers';

/** The length of a slice. It ends at the first place after this time at which its work can pause. */
const SLICE_MS = 1;
/** The time for other work of the event loop before the next slice, as a multiple of the slice's time. */
const REST_TIMES = 2;
/** An iteration of the event loop that is shorter had no other work. */
const QUIET_MS = 0.2;
/**
 * How long a small turn is expected to wait for its account's reply. For this time after its beginning, work rests twice as long as its last
 * slice took, even if the event loop has nothing else to do. A turn that takes longer does not notice a slice.
 */
const SMALL_TURN_MS = 20;
/** The shortest time for which a timer waits. A shorter rest is none, because turns of a loop that has nothing to do would use it up. */
const LEAST_REST_MS = 1;

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
  /** Until when a small turn may wait for its reply. */
  #smallUntil = Number.NEGATIVE_INFINITY;
  readonly #now: () => number;

  /** @param now returns milliseconds of a clock that passes evenly */
  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** Resolves when the next slice of the key begins. */
  next(key: string): Promise<void> {
    return new Promise((begin) => {
      const own = this.#waiting.get(key);
      if (own) own.push(begin);
      else this.#waiting.set(key, [begin]);
      if (this.#isScheduled) return;
      this.#isScheduled = true;
      this.#at = this.#now();
      setImmediate(this.#pass);
    });
  }

  /** Called when a turn that needs no slices begins. */
  smallTurn(): void {
    if (this.#isScheduled) this.#smallUntil = this.#now() + SMALL_TURN_MS;
  }

  /** Runs once in each iteration of the event loop, except while small turns rest it. */
  readonly #pass = (): void => {
    const now = this.#now();
    const took = now - this.#at;
    this.#at = now;
    if (this.#hasGranted) this.#rest = REST_TIMES * took;
    else if (took >= QUIET_MS) this.#rest -= took;
    const leaves = now < this.#smallUntil && this.#rest >= LEAST_REST_MS;
    if (!this.#hasGranted && took < QUIET_MS && !leaves) this.#rest = 0;
    this.#hasGranted = this.#rest <= 0 && this.#grant();
    this.#isScheduled = this.#hasGranted || this.#waiting.size > 0;
    if (!this.#isScheduled) this.#rest = 0;
    else if (leaves && !this.#hasGranted) setTimeout(this.#pass, this.#rest);
    else setImmediate(this.#pass);
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

/** Called when a turn that needs no slices begins. */
export const smallTurnBegins = (): void => turns.smallTurn();

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
