// The running side of accounts: their connections and what is in flight, kept through reloads of the configuration.
import type { Config } from '../config/config.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { Carrier } from './carrier.ts';
import { PassThrough } from './pass-through.ts';
import { UndiciCarrier, type UndiciTimeouts } from './undici-carrier.ts';

export class Upstream {
  /** What its carriers were made for; another description needs others. */
  readonly made: string;
  readonly carrier: Carrier;
  /** As configured: a turn whose account has moved since must not take its credential to the new address. */
  readonly baseUrl: string;
  readonly #url: string;
  readonly #timeouts: UndiciTimeouts;
  #pass: PassThrough | undefined;

  constructor(made: string, url: string, baseUrl: string, timeouts: UndiciTimeouts) {
    this.made = made;
    this.baseUrl = baseUrl;
    this.#url = url;
    this.#timeouts = timeouts;
    this.carrier = new UndiciCarrier(url, timeouts);
  }

  /** Made at first need: most accounts never see a pass-through row. */
  get pass(): PassThrough {
    this.#pass ??= new PassThrough(this.#url, this.#timeouts);
    return this.#pass;
  }

  /** Idle connections end now, the others with their answers; resolves when all are over. */
  async retire(): Promise<void> {
    await Promise.all([this.carrier.close(), this.#pass?.close()]);
  }

  async destroy(): Promise<void> {
    this.#pass?.destroy();
    await this.carrier.destroy();
  }
}

export class Upstreams {
  #byAccount = new Map<string, Upstream>();

  /**
   * Takes the accounts of a configuration. Connections of accounts that are gone or moved end once their turns are over; resolves
   * then.
   */
  async configure(config: Config, urlOf: (account: AccountConfig) => string): Promise<void> {
    const { upstream_connect_ms: connectMs, upstream_first_byte_ms: firstByteMs, upstream_idle_ms: idleMs } = config.timeouts;
    const timeouts = { connectMs, firstByteMs, idleMs };
    const next = new Map<string, Upstream>();
    for (const account of config.accounts) {
      const url = urlOf(account);
      const made = JSON.stringify([url, timeouts]);
      const known = this.#byAccount.get(account.id);
      next.set(account.id, known?.made === made ? known : new Upstream(made, url, account.base_url, timeouts));
    }
    const old = [...this.#byAccount].filter(([id, upstream]) => next.get(id) !== upstream);
    this.#byAccount = next;
    await Promise.all(old.map(([, upstream]) => upstream.retire()));
  }

  of(accountId: string): Upstream | undefined {
    return this.#byAccount.get(accountId);
  }

  /** Ends all connections at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#byAccount.values()].map((upstream) => upstream.destroy()));
  }
}
