// Keeps the parts of a reply in order. The first open part is written as it arrives; content of later parts is held until then (AM54).

/** The content of one part that is held. */
interface Lane {
  readonly held: (() => void)[];
  finished: boolean;
}

export interface LaneMemory {
  /** @throws TooMuchHeld */
  hold(bytes: number): void;
  release(bytes: number): void;
}

/** The memory that is counted for each part. */
const LANE_BYTES = 100;

export class Lanes<Key> {
  readonly #memory: LaneMemory;
  readonly #lanes = new Map<Key, Lane>();
  readonly #finished = new Set<Key>();
  #first: Key | undefined;
  #bytes = 0;

  constructor(memory: LaneMemory) {
    this.#memory = memory;
  }

  /** Whether content of this part can be written now. Opens the part; a part that has ended is not opened again. */
  isFirst(key: Key): boolean {
    if (this.#first === key) return true;
    if (this.#finished.has(key)) return false;
    if (!this.#lanes.has(key)) {
      // Counted, because a provider may open any number of parts.
      this.#memory.hold(LANE_BYTES);
      this.#lanes.set(key, { held: [], finished: false });
    }
    if (this.#first !== undefined) return false;
    this.#first = key;
    return true;
  }

  /** Runs `write` now, or when the earlier parts have ended. @param bytes the memory that is held until then @throws TooMuchHeld */
  write(key: Key, bytes: number, write: () => void): void {
    if (this.isFirst(key)) write();
    else if (!this.#finished.has(key)) this.#hold(this.#lanes.get(key), bytes, write);
  }

  /** Marks the part as ended. No more content comes for it. */
  finish(key: Key): void {
    if (this.#finished.has(key)) return;
    this.#finished.add(key);
    const lane = this.#lanes.get(key);
    if (lane) lane.finished = true;
    if (this.#first === key) this.#advance();
  }

  /** The parts that are still open, in order. */
  get open(): readonly Key[] {
    return [...this.#lanes].flatMap(([key, { finished }]) => (finished ? [] : [key]));
  }

  #hold(lane: Lane | undefined, bytes: number, write: () => void): void {
    if (!lane || lane.finished) return;
    this.#memory.hold(bytes);
    this.#bytes += bytes;
    lane.held.push(write);
  }

  #advance(): void {
    if (this.#first !== undefined) this.#lanes.delete(this.#first);
    this.#first = undefined;
    for (const [key, lane] of this.#lanes) {
      this.#first = key;
      for (const write of lane.held.splice(0)) write();
      if (!lane.finished) return;
      this.#lanes.delete(key);
      this.#first = undefined;
    }
    // Everything that was held has been written.
    this.#memory.release(this.#bytes);
    this.#bytes = 0;
  }
}
