// Which account a continuation belongs to: bounded memory over the store, where pins stand hashed for 24 hours (Q10).
import { LRUCache } from 'lru-cache';
import type { PinRow, Store } from '../../../store/store.ts';
import type { KeyedDigest } from '../../vault/digest.ts';
import type { Clock } from '../catalog/clock.ts';
import { LatePins } from './late-pins.ts';

const TTL_MS = 86_400_000;
/** Some 8 MB when it is full: the turns of the last hours on a busy gateway. */
const REMEMBERED = 50_000;
/** No start waits for more of them; the rest is looked up. */
const LOADED = 20_000;

export interface Pin {
  readonly account: string;
  /** Unix milliseconds. */
  readonly expires_at: number;
}

/** What names a pin: never the value itself. */
export type PinName = Pick<PinRow, 'kind' | 'pool' | 'key_id' | 'hash'>;

export interface PinBookOptions {
  readonly store: Store['pins'];
  readonly digest: KeyedDigest;
  readonly clock: Clock;
  /** How many are kept in memory. */
  readonly remembered?: number;
}

export class PinBook {
  readonly #options: PinBookOptions;
  readonly #pins: LRUCache<string, Pin>;
  readonly #late: LatePins;
  readonly #remembered: number;
  /** Whether the store may know pins that memory does not: else a new session costs no look there. */
  #storeKnowsMore = true;

  constructor(options: PinBookOptions) {
    this.#options = options;
    this.#late = new LatePins(options.store, (ms, run) => options.clock.after(ms, run));
    this.#remembered = options.remembered ?? REMEMBERED;
    this.#pins = new LRUCache({
      max: this.#remembered,
      dispose: (_pin, _hash, reason) => {
        if (reason === 'evict') this.#storeKnowsMore = true;
      },
    });
  }

  /** Takes what earlier processes learnt. What cannot be read is looked up when it is asked for. */
  async load(): Promise<void> {
    const most = Math.min(this.#remembered, LOADED);
    const rows = await this.#options.store.load(most).catch(() => undefined);
    if (!rows) return;
    this.#storeKnowsMore = rows.length >= most;
    // The longest-lived come first, and the last ones put in stay longest in memory.
    for (const { hash, account, expires_at } of rows.toReversed()) this.#pins.set(hash, { account, expires_at });
  }

  /** @param keyId empty where the value belongs to the whole Pool */
  name(kind: PinRow['kind'], pool: string, keyId: string, value: string): PinName {
    // Everything stands in the digest: the same value of two Pools looks unlike in the store, and one map holds all in memory.
    return { kind, pool, key_id: keyId, hash: this.#options.digest.of(`${kind}\n${pool}\n${keyId}\n${value}`) };
  }

  /** A promise only where memory cannot tell. A store that fails knows nothing. */
  find(name: PinName): Pin | undefined | Promise<Pin | undefined> {
    const { store, clock } = this.#options;
    const pin = this.#pins.get(name.hash);
    if (pin) return pin.expires_at > clock.now() ? pin : undefined;
    if (!this.#storeKnowsMore) return undefined;
    return store.find(name).then(
      (row) => {
        if (!row) return undefined;
        const found = { account: row.account, expires_at: row.expires_at };
        this.#pins.set(name.hash, found);
        return found;
      },
      () => undefined,
    );
  }

  /** Binds for 24 hours from now; written only where that says something new: another account, or the time is half over. */
  learn(name: PinName, account: string): void {
    const { store, clock } = this.#options;
    const at = clock.now();
    const known = this.#pins.get(name.hash);
    if (known?.account === account && known.expires_at - at > TTL_MS / 2) return;
    const pin = { account, expires_at: at + TTL_MS };
    this.#pins.set(name.hash, pin);
    const row = { ...name, ...pin };
    // A session is written once in many turns; the others with every turn.
    if (name.kind === 'header') store.put(row);
    else this.#late.put(row);
  }

  /** Hands to the store what it has not got yet. */
  flush(): void {
    this.#late.flush();
  }
}
