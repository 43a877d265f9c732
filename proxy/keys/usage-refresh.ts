// Reads usage that other nodes have settled into the ledger. Changes are gathered for a moment and read together (Q34).
import type { Store, UsageKey } from '../../store/store.ts';
import type { Clock } from '../base/time/clock.ts';
import type { Ledger } from './ledger.ts';
import type { Settlements } from './settlements.ts';

export interface UsageRefreshOptions {
  readonly store: Pick<Store['usage'], 'read'>;
  /** Settlements of keys with limits, whose usage is not written through the store's queue. */
  readonly settlements: Pick<Settlements, 'whileStill' | 'withWaiting'> | undefined;
  readonly ledger: Ledger;
  readonly clock: Pick<Clock, 'after'>;
}

/**
 * How long changes are gathered. Every node writes the usage of busy keys ten times a second, and each read also writes what waits here.
 */
const GATHER_MS = 250;
const AGAIN_MS = 1_000;

export class UsageRefresh {
  readonly #options: UsageRefreshOptions;
  readonly #changed = new Map<string, UsageKey>();
  #cancel: (() => void) | undefined;
  #stopped = false;

  constructor(options: UsageRefreshOptions) {
    this.#options = options;
  }

  /** Notes the keys whose usage other nodes have changed. */
  changed(keys: readonly UsageKey[]): void {
    for (const key of keys) this.#changed.set(`${key.key_id}\n${key.pool}\n${key.day}`, key);
    this.#readIn(GATHER_MS);
  }

  /** Stops the timer for good. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #readIn(ms: number): void {
    if (!this.#stopped) this.#cancel ??= this.#options.clock.after(ms, () => void this.#read());
  }

  async #read(): Promise<void> {
    const keys = [...this.#changed];
    this.#changed.clear();
    const adopted = await this.#adopt(keys.map(([, key]) => key)).catch(() => false);
    if (!adopted) for (const [name, key] of keys) this.#changed.set(name, key);
    this.#cancel = undefined;
    if (this.#changed.size > 0) this.#readIn(adopted ? GATHER_MS : AGAIN_MS);
  }

  /** @returns false if the rows came too late to be exact */
  async #adopt(keys: readonly UsageKey[]): Promise<boolean> {
    const { store, settlements, ledger } = this.#options;
    let adopted = false;
    const read = (isStill: () => boolean): Promise<void> =>
      store.read(keys, (rows) => {
        adopted = isStill();
        if (adopted) ledger.adopt(settlements ? rows.map((row) => settlements.withWaiting(row)) : rows);
      });
    await (settlements ? settlements.whileStill(read) : read(() => true));
    return adopted;
  }
}
