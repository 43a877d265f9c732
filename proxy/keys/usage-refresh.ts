// Usage that other nodes have settled reaches the ledger: what changed is gathered for a moment, and read together (Q34).
import type { Store, UsageKey } from '../../store/store.ts';
import type { Clock } from '../clock.ts';
import type { Ledger } from './ledger.ts';

export interface UsageRefreshOptions {
  readonly store: Pick<Store['usage'], 'read'>;
  readonly ledger: Ledger;
  readonly clock: Pick<Clock, 'after'>;
}

/** Every node writes the usage of busy keys ten times a second; each read also writes what waits here. */
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

  /** Other nodes have added to these. */
  changed(keys: readonly UsageKey[]): void {
    for (const key of keys) this.#changed.set(`${key.key_id}\n${key.pool}\n${key.day}`, key);
    this.#readIn(GATHER_MS);
  }

  /** Sets no timer after this. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }

  #readIn(ms: number): void {
    if (!this.#stopped) this.#cancel ??= this.#options.clock.after(ms, () => void this.#read());
  }

  async #read(): Promise<void> {
    const { store, ledger } = this.#options;
    const keys = [...this.#changed];
    this.#changed.clear();
    let next = GATHER_MS;
    try {
      await store.read(
        keys.map(([, key]) => key),
        (rows) => ledger.adopt(rows),
      );
    } catch {
      for (const [name, key] of keys) this.#changed.set(name, key);
      next = AGAIN_MS;
    }
    this.#cancel = undefined;
    if (this.#changed.size > 0) this.#readIn(next);
  }
}
