// The provider thread that the current configuration needs, and earlier ones that still serve turns in flight.
import type { Config } from '../config/config.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { type ProviderThread, rehearsalName, startProviderThread } from './provider-thread.ts';

export class RehearsalProviders {
  #config: Config;
  #current: ProviderThread | undefined;
  readonly #open = new Set<ProviderThread>();

  private constructor(config: Config) {
    this.#config = config;
  }

  /** Starts no thread for a configuration without rehearsal accounts. */
  static async start(config: Config): Promise<RehearsalProviders> {
    const providers = new RehearsalProviders(config);
    await providers.#startThread();
    return providers;
  }

  /** The account's base URL: its own, or the address where the provider listens for it. */
  urlOf({ id, base_url }: AccountConfig): string {
    return rehearsalName(base_url) === undefined ? base_url : (this.#current?.urlOf(id) ?? base_url);
  }

  /** Starts another provider where the rehearsal accounts or the wire words changed. @returns closes the earlier one; call it when its turns are over */
  async reconfigure(next: Config): Promise<() => Promise<void>> {
    const unchanged = JSON.stringify(settingsOf(next)) === JSON.stringify(settingsOf(this.#config));
    this.#config = next;
    if (unchanged) return () => Promise.resolve();
    const earlier = this.#current;
    await this.#startThread();
    return async () => {
      if (!earlier) return;
      this.#open.delete(earlier);
      await earlier.close();
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((provider) => provider.close()));
  }

  async #startThread(): Promise<void> {
    const { accounts, wire } = settingsOf(this.#config);
    this.#current = accounts.length > 0 ? await startProviderThread(accounts, wire) : undefined;
    if (this.#current) this.#open.add(this.#current);
  }
}

/** The part of a configuration that a provider depends on. */
function settingsOf({ accounts, wire }: Config): {
  readonly accounts: readonly { readonly id: string; readonly profile: string }[];
  readonly wire: Config['wire'];
} {
  return {
    accounts: accounts.flatMap(({ id, base_url }) => {
      const profile = rehearsalName(base_url);
      return profile === undefined ? [] : [{ id, profile }];
    }),
    wire,
  };
}
