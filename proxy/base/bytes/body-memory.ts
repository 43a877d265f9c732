// Limits the bytes of client bodies that the process holds at the same time. If there is no room, bodies of the key that holds most are
// dropped (Q4, Q38).
import { DenseJson, DenseMemory, MUCH_BYTES } from './dense-json.ts';

/** The bodies of one key. */
interface KeyBodies {
  held: number;
  readonly bodies: Set<HeldBody>;
}

/** The memory for the bodies of one key. */
export class BodyShare {
  readonly key: string;
  readonly #memory: BodyMemory;

  constructor(memory: BodyMemory, key: string) {
    this.#memory = memory;
    this.key = key;
  }

  /**
   * Makes the count of a body.
   * @param displaced drops the body to make room for a key that holds less; without it the body keeps its bytes until it gives them back
   */
  body(displaced?: () => void): HeldBody {
    return new HeldBody(this.#memory, this.key, displaced);
  }

  /** Makes room for bytes that are held only for a moment. @returns whether there is room */
  makeRoom(bytes: number, limit: number): boolean {
    return this.#memory.makeRoom(this.key, bytes, limit);
  }

  /** Makes the count of one body's parsed JSON. */
  json(): DenseJson {
    return new DenseJson(this.#memory.dense, this.key);
  }
}

/** The key for bodies that are held before their key is known. */
const KEYLESS = '';

export class BodyMemory {
  held = 0;
  readonly dense: DenseMemory;
  readonly #keys = new Map<string, KeyBodies>();
  readonly #isLarge: () => void;

  /** @param isLarge called whenever bodies or dense JSON take memory while they hold much */
  constructor(isLarge: () => void = () => undefined) {
    this.#isLarge = isLarge;
    this.dense = new DenseMemory(isLarge);
  }

  of(key = KEYLESS): BodyShare {
    return new BodyShare(this, key);
  }

  /** Drops bodies of other keys if there is no room. @returns whether there is room for `bytes` more bytes of the key */
  makeRoom(key: string, bytes: number, limit: number): boolean {
    if (this.held + bytes <= limit) return true;
    const displaced = this.#displacedBy(key, bytes, limit);
    for (const one of displaced ?? []) one.displace();
    return displaced !== undefined;
  }

  /** Called by bodies. @returns whether there is room for `bytes` more bytes */
  take(body: HeldBody, bytes: number, limit: number): boolean {
    if (!this.makeRoom(body.key, bytes, limit)) return false;
    let mine = this.#keys.get(body.key);
    if (!mine) {
      mine = { held: 0, bodies: new Set() };
      this.#keys.set(body.key, mine);
    }
    mine.bodies.add(body);
    mine.held += bytes;
    this.held += bytes;
    if (this.held >= MUCH_BYTES) this.#isLarge();
    return true;
  }

  /** Called by bodies. */
  give(body: HeldBody, bytes: number): void {
    this.held -= bytes;
    const mine = this.#keys.get(body.key);
    if (!mine) return;
    mine.held -= bytes;
    if (body.bytes === 0) mine.bodies.delete(body);
    if (mine.bodies.size === 0) this.#keys.delete(body.key);
  }

  /**
   * The bodies that are dropped to make room. Each is the largest one of the key that holds most, as long as that key holds more than the
   * asking key would. Undefined if they would not make enough room, so that no body is dropped in vain.
   */
  #displacedBy(key: string, bytes: number, limit: number): readonly HeldBody[] | undefined {
    const wanted = (this.#keys.get(key)?.held ?? 0) + bytes;
    const larger = [...this.#keys.values()]
      .filter(({ held }) => held > wanted)
      .map(({ held, bodies }) => ({ held, bodies: [...bodies].filter((body) => body.canBeDisplaced).sort((a, b) => b.bytes - a.bytes) }));
    const displaced: HeldBody[] = [];
    for (let missing = this.held + bytes - limit; missing > 0; ) {
      larger.sort((a, b) => b.held - a.held);
      const most = larger.find(({ held, bodies }) => held > wanted && bodies.length > 0);
      const body = most?.bodies.shift();
      if (!most || !body) return undefined;
      most.held -= body.bytes;
      missing -= body.bytes;
      displaced.push(body);
    }
    return displaced;
  }
}

/** The bytes that are held of one body. */
export class HeldBody {
  readonly key: string;
  readonly #memory: BodyMemory;
  readonly #displaced: (() => void) | undefined;
  #bytes = 0;

  constructor(memory: BodyMemory, key: string, displaced: (() => void) | undefined) {
    this.#memory = memory;
    this.key = key;
    this.#displaced = displaced;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get canBeDisplaced(): boolean {
    return this.#displaced !== undefined;
  }

  /** @returns whether there is room for `bytes` more bytes; bodies of other keys may be dropped for it */
  take(bytes: number, limit: number): boolean {
    if (!this.#memory.take(this, bytes, limit)) return false;
    this.#bytes += bytes;
    return true;
  }

  /** Gives back some of its bytes, or all. */
  give(bytes = this.#bytes): void {
    const given = Math.min(bytes, this.#bytes);
    this.#bytes -= given;
    this.#memory.give(this, given);
  }

  displace(): void {
    this.#displaced?.();
    this.give();
  }
}
