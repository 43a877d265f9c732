// Which account a continuation belongs to: bounded memory over the store, where pins stand hashed for 24 hours (Q10).
import { LRUCache } from 'lru-cache';
import type { PinRow, Store } from '../../../store/store.ts';
import type { KeyedDigest } from '../../vault/digest.ts';

const TTL_MS = 86_400_000;
/** Some 15 MB when it is full: the turns of the last hours on a busy gateway. */
const REMEMBERED = 100_000;

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
  readonly now: () => number;
  /** How many are kept in memory. */
  readonly remembered?: number;
}

export class PinBook {
  readonly #options: PinBookOptions;
  readonly #pins: LRUCache<string, Pin>;
  readonly #remembered: number;
  /** Whether the store may know pins that memory does not: else a new session costs no look there. */
  #storeKnowsMore = true;

  constructor(options: PinBookOptions) {
    this.#options = options;
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
    const rows = await this.#options.store.load(this.#remembered).catch(() => undefined);
    if (!rows) return;
    this.#storeKnowsMore = rows.length >= this.#remembered;
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
    const { store, now } = this.#options;
    const pin = this.#pins.get(name.hash);
    if (pin) return pin.expires_at > now() ? pin : undefined;
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
    const { store, now } = this.#options;
    const at = now();
    const known = this.#pins.get(name.hash);
    if (known?.account === account && known.expires_at - at > TTL_MS / 2) return;
    const pin = { account, expires_at: at + TTL_MS };
    this.#pins.set(name.hash, pin);
    store.put({ ...name, ...pin });
  }
}
