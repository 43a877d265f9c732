// Pins: the account that a response, session, turn state, ciphertext or conversation belongs to. The store has all of them by digest,
// memory has the recent ones (Q10, Q11).
import type { PinRow, Store } from '../../../store/store.ts';
import { RecentEntries } from '../../base/bytes/recent-entries.ts';
import type { Counters } from '../../base/process/metrics.ts';
import type { Clock } from '../../base/time/clock.ts';
import { DAY_MS } from '../../base/time/utc-days.ts';
import type { KeyedDigest } from '../../encryption/digest.ts';
import type { LivePin, Pin, PinKind, PinName } from '../../turn/continuation.ts';
import { LivePins } from './live-pins.ts';
import { LIFETIMES, OFTEN_NEW, SOFT } from './pin-kinds.ts';
import { PinWriter } from './pin-writer.ts';
import { type SharedPinStore, SharedPins } from './shared-pins.ts';

/** Pins that are read at the start, so that the first turns after a restart need no reads of their own. */
const PRELOADED = 20_000;
/**
 * The longest value that is kept as it is; ids are shorter. Longer values are digested, so that no client decides how much memory a pin
 * takes.
 */
const LONGEST = 200;
/**
 * How long a session or conversation that the store does not have counts as new. Until a turn of it succeeds, no further read is needed.
 */
const ABSENT_MS = 5_000;
const ABSENT_CAPACITY = 10_000;
/** The times after which the pin of an unknown response is looked up again, if several nodes share the store. */
const AGAIN_MS = [100, 400] as const;
/**
 * The characters of a digest that are kept: 96 bits. They identify a pin among billions, and do not help to guess a value without the key.
 * Whole digests would take twice the pages of the store's index, which are half the cost of a pin.
 */
const DIGEST_CHARACTERS = 16;

export type PinStore = Pick<Store['pins'], 'put' | 'putNow' | 'load' | 'find'>;

export interface PinCacheOptions {
  readonly store: PinStore;
  /** Present if several nodes share the store. Then pins are stored without delay, and moves are published to the other nodes. */
  readonly shared?: SharedPinStore | undefined;
  readonly digest: KeyedDigest;
  readonly clock: Clock;
  readonly counters: Counters;
  /** The most pins in memory. 50,000 take about 12 MB. */
  readonly capacity: number;
}

export class PinCache {
  readonly #options: PinCacheOptions;
  readonly #capacity: number;
  /** Pins by name. */
  readonly #pins: RecentEntries<Pin>;
  readonly #live = new LivePins((text, pin) => {
    this.#keep(text, pin, undefined);
    this.#writer.putAnchor({ text, ...pin });
  });
  /** Pins of earlier processes by digest, until they are first used. */
  readonly #preloaded = new Map<string, Pin>();
  /** Sessions and conversations that the store did not have, each with the time until which it is not read again. */
  readonly #absent = new RecentEntries<number>(ABSENT_CAPACITY);
  /** Undefined with one node. */
  readonly #shared: SharedPins | undefined;
  /** Reads in progress by digest. Turns of one session share a read. */
  readonly #reads = new Map<string, Promise<Pin | undefined>>();
  readonly #writer: PinWriter;

  constructor(options: PinCacheOptions) {
    this.#options = options;
    const { store, clock, digest, shared, capacity } = options;
    this.#writer = new PinWriter({ store, after: (ms, run) => clock.after(ms, run), digest: (text) => shortDigest(digest, text) });
    this.#capacity = capacity;
    this.#pins = new RecentEntries(capacity);
    this.#shared = shared && new SharedPins(shared, options);
  }

  /** Whether other nodes read the pins of this one from the store. */
  get isShared(): boolean {
    return this.#shared !== undefined;
  }

  /** Preloads pins of earlier processes. Other pins are looked up in the store when they are needed. */
  async load(): Promise<void> {
    const rows = await this.#options.store.load(Math.min(this.#capacity, PRELOADED)).catch(() => []);
    for (const { hash, ...pin } of rows) this.#preloaded.set(hash, pin);
  }

  /**
   * The name of a pin. Equal values of different kinds, Pools or keys have different names.
   * @param keyId empty if the value belongs to the whole Pool
   */
  name(kind: PinKind, pool: string, keyId: string, value: string): PinName {
    const bounded = value.length > LONGEST ? this.#options.digest.of(value) : value;
    return { kind, text: `${kind}\n${pool}\n${keyId}\n${bounded}` };
  }

  /**
   * Finds a pin. A promise only if it is not in memory: then the store is read, because another process may have set it. If the store
   * fails, the pin counts as absent.
   */
  find(name: PinName): Pin | undefined | Promise<Pin | undefined> {
    const known = this.#inMemory(name.text);
    if (known) return known;
    const absentUntil = this.#absent.get(name.text);
    if (absentUntil !== undefined && absentUntil > this.#options.clock.now()) return undefined;
    const hash = shortDigest(this.#options.digest, name.text);
    return this.#fromPreloaded(name.text, hash) ?? this.#fromStore(name, hash);
  }

  /** The pin if it is in memory. */
  peek({ text }: PinName): Pin | undefined {
    const known = this.#inMemory(text);
    if (known || this.#preloaded.size === 0) return known;
    return this.#fromPreloaded(text, shortDigest(this.#options.digest, text));
  }

  /**
   * Sets a pin for the lifetime of its kind. It is written only if the account is new or the pin is due for renewal.
   * @param since when the turn began; a later move of the pin by another node takes precedence
   * @returns with several nodes: resolves when this pin and all earlier ones are stored or lost; never rejects. Undefined if the pin is not
   * written
   */
  learn({ kind, text }: PinName, account: string, since = Number.POSITIVE_INFINITY): Promise<void> | undefined {
    const { store, clock, digest } = this.#options;
    if (this.#shared?.isMovedSince(text, since)) return undefined;
    const now = clock.now();
    const known = this.#pins.get(text);
    const { ttlMs, renewAfterMs } = LIFETIMES[kind];
    if (known?.account === account && known.expires_at - now > ttlMs - renewAfterMs) return undefined;
    const pin = { account, expires_at: now + ttlMs };
    this.#keep(text, pin, known);
    if (this.#shared) return this.#shared.write({ kind, text }, shortDigest(digest, text), pin, known);
    if (kind === 'response') this.#writer.putAnchor({ text, ...pin });
    // A session is written once in many turns, the other kinds with every turn.
    else if (kind === 'header') store.put({ hash: shortDigest(digest, text), ...pin, isSoft: true });
    else this.#writer.put({ text, ...pin, isSoft: SOFT.has(kind) });
    return undefined;
  }

  /** Pins the last response of an open websocket for the lifetime of its kind. The pin is written when the websocket ends. */
  remember({ kind, text }: PinName, account: string): LivePin {
    return this.#live.add(text, { account, expires_at: this.#options.clock.now() + LIFETIMES[kind].ttlMs });
  }

  /** Drops pins that another node has moved, so that the store is read for them again. @param hashes the digests of the pins */
  forget(hashes: Iterable<string>): void {
    for (const hash of hashes) {
      this.#preloaded.delete(hash);
      const text = this.#shared?.moved(hash);
      if (text !== undefined) this.#pins.delete(text);
    }
  }

  /** Passes all pins to the store, and later ones without delay. Call it when the process begins to end. */
  drain(): void {
    this.#writer.drain();
  }

  /** Passes all pins to the store. */
  flush(): void {
    this.#writer.flush();
  }

  /** @param known the pin in memory */
  #keep(text: string, pin: Pin, known: Pin | undefined): void {
    if (!known && this.#pins.size >= this.#capacity) this.#options.counters.add('pins_evicted');
    this.#pins.set(text, pin);
  }

  #inMemory(text: string): Pin | undefined {
    const pin = this.#live.get(text) ?? this.#pins.get(text);
    return pin && pin.expires_at > this.#options.clock.now() ? pin : undefined;
  }

  #fromPreloaded(text: string, hash: string): Pin | undefined {
    const pin = this.#preloaded.get(hash);
    if (!pin) return undefined;
    this.#preloaded.delete(hash);
    return this.#adopt(text, hash, pin);
  }

  #fromStore(name: PinName, hash: string): Promise<Pin | undefined> {
    const reading = this.#reads.get(hash);
    if (reading) return reading;
    const read = this.#lookUp(name, hash).finally(() => this.#reads.delete(hash));
    this.#reads.set(hash, read);
    return read;
  }

  /**
   * Looks a pin up in the store. A node sends the end of a reply 50 ms after it began to write its pin, even if the store has not accepted
   * the pin yet. By then the client may already continue the response at this node (Q34).
   */
  async #lookUp(name: PinName, hash: string): Promise<Pin | undefined> {
    let pin = await this.#read(name, hash);
    if (pin || name.kind !== 'response' || !this.isShared) return pin;
    const { clock, counters } = this.#options;
    for (const ms of AGAIN_MS) {
      counters.add('pins_looked_up_again');
      await new Promise<void>((resolve) => void clock.after(ms, resolve));
      pin = await this.#read(name, hash);
      if (pin) break;
    }
    return pin;
  }

  #read(name: PinName, hash: string): Promise<Pin | undefined> {
    return this.#options.store.find(hash).then(
      (row) => this.#answer(name, hash, row),
      () => this.#inMemory(name.text),
    );
  }

  /**
   * The pin of a row. An unknown response may be looked up again immediately, because the process that made it may write it within the next
   * second.
   */
  #answer({ kind, text }: PinName, hash: string, row: PinRow | undefined): Pin | undefined {
    // A turn that was committed during the look-up has set a newer pin.
    const learnt = this.#inMemory(text);
    if (learnt) return learnt;
    if (row) return this.#adopt(text, hash, { account: row.account, expires_at: row.expires_at });
    // With several nodes the session's next turn may come from a node that has answered it since the look-up began.
    if (OFTEN_NEW.has(kind) && !this.isShared) this.#absent.set(text, this.#options.clock.now() + ABSENT_MS);
    return undefined;
  }

  #adopt(text: string, hash: string, { account, expires_at }: Pin): Pin | undefined {
    const now = this.#options.clock.now();
    if (expires_at <= now) return undefined;
    // No pin is valid for longer. A later expiry was set before the clock was set back.
    const pin = { account, expires_at: Math.min(expires_at, now + DAY_MS) };
    this.#shared?.keep(hash, text);
    this.#keep(text, pin, this.#pins.get(text));
    return pin;
  }
}

const shortDigest = (digest: KeyedDigest, text: string): string => digest.of(text).slice(0, DIGEST_CHARACTERS);
