// Which account a continuation belongs to: bounded memory over the store, where pins stand hashed for 24 hours (Q10).
import { LRUCache } from 'lru-cache';
import type { Store } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import type { KeyedDigest } from '../encryption/digest.ts';
import type { PinKind, PinName } from '../turn/continuation.ts';
import { LatePins } from './pin-writer.ts';

const TTL_MS = 86_400_000;
/** Some 12 MB when it is full: the turns of the last hours on a busy gateway. */
const REMEMBERED = 50_000;
/** No start waits for more of them; the rest is looked up. */
const LOADED = 20_000;
/** Ids are shorter. What clients make longer is digested first, so that nobody chooses how much memory a pin takes. */
const LONGEST = 200;

export interface Pin {
  readonly account: string;
  /** Unix milliseconds. */
  readonly expires_at: number;
}

export interface PinBookOptions {
  readonly store: Store['pins'];
  readonly digest: KeyedDigest;
  readonly clock: Clock;
  /** How many are kept in memory. */
  readonly remembered?: number;
}

export class PinBook {
  readonly #options: PinBookOptions;
  /** By name. */
  readonly #pins: LRUCache<string, Pin>;
  /** What earlier processes learnt, by digest, until somebody asks for it. */
  readonly #loaded = new Map<string, Pin>();
  readonly #late: LatePins;
  readonly #remembered: number;
  /** Whether the store may know pins that memory does not: else a new session costs no look there. */
  #storeKnowsMore = true;

  constructor(options: PinBookOptions) {
    this.#options = options;
    const { store, clock, digest } = options;
    this.#late = new LatePins({ store, after: (ms, run) => clock.after(ms, run), digest: (text) => digest.of(text) });
    this.#remembered = options.remembered ?? REMEMBERED;
    this.#pins = new LRUCache({
      max: this.#remembered,
      dispose: (_pin, _name, reason) => {
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
    for (const { hash, account, expires_at } of rows) this.#loaded.set(hash, { account, expires_at });
  }

  /**
   * The same value of two kinds, Pools or keys has two names.
   * @param keyId empty where the value belongs to the whole Pool
   */
  name(kind: PinKind, pool: string, keyId: string, value: string): PinName {
    const bounded = value.length > LONGEST ? this.#options.digest.of(value) : value;
    return { kind, text: `${kind}\n${pool}\n${keyId}\n${bounded}` };
  }

  /** A promise only where memory cannot tell. A store that fails knows nothing. */
  find({ text }: PinName): Pin | undefined | Promise<Pin | undefined> {
    const { store, clock, digest } = this.#options;
    const pin = this.#pins.get(text);
    if (pin) return pin.expires_at > clock.now() ? pin : undefined;
    if (this.#loaded.size === 0 && !this.#storeKnowsMore) return undefined;
    const hash = digest.of(text);
    const loaded = this.#loaded.get(hash);
    if (loaded) {
      this.#loaded.delete(hash);
      this.#pins.set(text, loaded);
      return loaded.expires_at > clock.now() ? loaded : undefined;
    }
    if (!this.#storeKnowsMore) return undefined;
    return store.find(hash).then(
      (row) => {
        if (!row) return undefined;
        const found = { account: row.account, expires_at: row.expires_at };
        this.#pins.set(text, found);
        return found;
      },
      () => undefined,
    );
  }

  /** Binds for 24 hours from now; written only where that says something new: another account, or the time is half over. */
  learn({ kind, text }: PinName, account: string): void {
    const { store, clock, digest } = this.#options;
    const at = clock.now();
    const known = this.#pins.get(text);
    if (known?.account === account && known.expires_at - at > TTL_MS / 2) return;
    const pin = { account, expires_at: at + TTL_MS };
    this.#pins.set(text, pin);
    // A session is written once in many turns; the others with every turn.
    if (kind === 'header') store.put({ hash: digest.of(text), ...pin });
    else this.#late.put({ text, ...pin });
  }

  /** Hands to the store what it has not got yet. */
  flush(): void {
    this.#late.flush();
  }
}
