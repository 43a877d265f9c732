// The running side of accounts: their connections and what is in flight, kept through reloads of the configuration.
import type { AccountConfig, Config } from '../config/config.ts';
import type { Carrier } from './carrier.ts';
import { UndiciCarrier } from './undici.ts';

export interface Upstream {
  /** What its carrier was made for; another description needs another carrier. */
  readonly made: string;
  readonly carrier: Carrier;
  /** Attempts under way. */
  inFlight: number;
}

export class Upstreams {
  #byAccount = new Map<string, Upstream>();

  /** Takes the accounts of a configuration. Connections of accounts that are gone or moved end once their turns are over. */
  configure(config: Config, urlOf: (account: AccountConfig) => string): void {
    const { upstream_connect_ms: connectMs, upstream_first_byte_ms: firstByteMs, upstream_idle_ms: idleMs } = config.timeouts;
    const next = new Map<string, Upstream>();
    for (const account of config.accounts) {
      const url = urlOf(account);
      const made = JSON.stringify([url, connectMs, firstByteMs, idleMs]);
      const known = this.#byAccount.get(account.id);
      const carrier = (): Carrier => new UndiciCarrier(url, { connectMs, firstByteMs, idleMs });
      next.set(account.id, known?.made === made ? known : { made, carrier: carrier(), inFlight: 0 });
    }
    const old = [...this.#byAccount].filter(([id, upstream]) => next.get(id) !== upstream);
    this.#byAccount = next;
    for (const [, upstream] of old) void upstream.carrier.close();
  }

  of(accountId: string): Upstream | undefined {
    return this.#byAccount.get(accountId);
  }

  /** Ends all connections at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#byAccount.values()].map(({ carrier }) => carrier.destroy()));
  }
}
