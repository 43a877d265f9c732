// The rehearsal provider that the running configuration needs, and former ones whose turns are not over yet.
import type { Config } from '../config/config.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { type Rehearsal, rehearsalName, startRehearsal } from './start.ts';

export class Rehearsals {
  #config: Config;
  #current: Rehearsal | undefined;
  readonly #open = new Set<Rehearsal>();

  private constructor(config: Config) {
    this.#config = config;
  }

  /** Only a configuration with rehearsal accounts pays for the provider. */
  static async start(config: Config): Promise<Rehearsals> {
    const rehearsals = new Rehearsals(config);
    await rehearsals.#begin();
    return rehearsals;
  }

  /** The account's address: its own, or where the provider listens for it. */
  urlOf({ id, base_url }: AccountConfig): string {
    return rehearsalName(base_url) === undefined ? base_url : (this.#current?.urlOf(id) ?? base_url);
  }

  /** Other accounts, or other words, need another provider. @returns ends the former one; for when its turns are over */
  async follow(next: Config): Promise<() => Promise<void>> {
    const same = JSON.stringify(castOf(next)) === JSON.stringify(castOf(this.#config));
    this.#config = next;
    if (same) return () => Promise.resolve();
    const former = this.#current;
    await this.#begin();
    return async () => {
      if (!former) return;
      this.#open.delete(former);
      await former.close();
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((rehearsal) => rehearsal.close()));
  }

  async #begin(): Promise<void> {
    const { accounts, wire } = castOf(this.#config);
    this.#current = accounts.length > 0 ? await startRehearsal(accounts, wire) : undefined;
    if (this.#current) this.#open.add(this.#current);
  }
}

/** What a provider is made of. */
function castOf({ accounts, wire }: Config): {
  readonly accounts: { readonly id: string; readonly temperament: string }[];
  readonly wire: Config['wire'];
} {
  return {
    accounts: accounts.flatMap(({ id, base_url }) => {
      const temperament = rehearsalName(base_url);
      return temperament === undefined ? [] : [{ id, temperament }];
    }),
    wire,
  };
}
