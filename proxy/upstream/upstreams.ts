// The connections to all accounts, kept through reloads of the configuration.
import { Batches } from '../base/process/batch.ts';
import type { Heartbeat } from '../base/process/heartbeat.ts';
import type { LoadedConfig } from '../config/config.ts';
import { credentialHeader, isApiAccount } from '../turn/provider/api-account.ts';
import type { AccountConfig, Timeouts } from '../turn/settings.ts';
import type { StreamCarrier, TurnCarrier } from './carriers/carrier.ts';
import { PassThrough } from './carriers/pass-through.ts';
import { UndiciCarrier, type UndiciTimeouts } from './carriers/undici-carrier.ts';
import { WebsocketCarrier } from './carriers/websocket/websocket-carrier.ts';
import { type Egress, egressOf } from './egress/egress.ts';
import type { EgressRoute } from './egress/route.ts';

interface UpstreamOptions {
  readonly identity: string;
  readonly account: string;
  /** The actual address of the account. A rehearsal account gets it from its provider. */
  readonly url: string;
  readonly baseUrl: string;
  readonly egress: Egress;
  /** The parameters of every request, encoded. */
  readonly query: string;
  /** The header that carries the account's credential. */
  readonly credentialHeader: string;
  readonly timeouts: UndiciTimeouts;
  readonly heartbeat: Heartbeat;
  readonly batches: Batches;
}

/** The connections to one account. */
export class Upstream {
  readonly carrier: TurnCarrier;
  /** The configured address. A turn whose account has moved since the turn began must not send its credential to the new address. */
  readonly baseUrl: string;
  /** The actual address. For a rehearsal account it is that of the listener. */
  readonly url: string;
  /** The settings that the carriers depend on. If they change, new carriers are needed. */
  readonly identity: string;
  /** The account's own timeouts, if it sets them (AA6). */
  readonly timeouts: UndiciTimeouts;
  readonly #options: UpstreamOptions;
  #streamCarrier: PassThrough | undefined;
  #websocketCarrier: WebsocketCarrier | undefined;
  /** The leases of attempts and of the gateway's own requests. */
  #leases = 0;
  #unleased: (() => void) | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.identity = options.identity;
    this.baseUrl = options.baseUrl;
    this.url = options.url;
    this.timeouts = options.timeouts;
    const { url, timeouts, batches, query } = options;
    this.carrier = new UndiciCarrier(url, timeouts, batches, this.routeTo(url), query);
  }

  /** How the account's connections to this address are made; undefined for direct ones. */
  routeTo(url: string): EgressRoute | undefined {
    return this.#options.egress.routeTo(url);
  }

  /** The carrier of pass-through rows. It is created at first use, because most accounts never get such a row. */
  get streamCarrier(): StreamCarrier {
    const { url, timeouts, query } = this.#options;
    this.#streamCarrier ??= new PassThrough(url, timeouts, this.routeTo(url), query);
    return this.#streamCarrier;
  }

  get websocketCarrier(): WebsocketCarrier {
    const { account, url, query, credentialHeader, timeouts, heartbeat, batches } = this.#options;
    this.#websocketCarrier ??= new WebsocketCarrier({
      account,
      baseUrl: url,
      query,
      credentialHeader,
      route: this.routeTo(url),
      heartbeat,
      batches,
      ...timeouts,
    });
    return this.#websocketCarrier;
  }

  /** Takes a lease. Until its release, its holder may send requests, even after a reload retired the connections. */
  lease(): void {
    this.#leases += 1;
  }

  release(): void {
    this.#leases -= 1;
    if (this.#leases === 0) this.#unleased?.();
  }

  /**
   * Ends the connections. Idle websockets and idle connections of pass-through rows end now, and the others with their replies. The pool of
   * the turns ends after the last lease, because it refuses later requests. Resolves when all have ended.
   */
  async retire(): Promise<void> {
    await this.#closeOthers();
    if (this.#leases > 0) {
      await new Promise<void>((resolve) => {
        this.#unleased = resolve;
      });
    }
    // Holders of leases may have opened further connections.
    await Promise.all([this.carrier.close(), this.#closeOthers()]);
  }

  async destroy(): Promise<void> {
    this.#options.egress.end();
    this.#websocketCarrier?.destroy();
    await Promise.all([this.#streamCarrier?.destroy(), this.carrier.destroy()]);
  }

  async #closeOthers(): Promise<void> {
    await Promise.all([this.#streamCarrier?.close(), this.#websocketCarrier?.close()]);
  }
}

export class Upstreams {
  readonly #heartbeat: Heartbeat;
  readonly #batches = new Batches();
  #byAccount = new Map<string, Upstream>();

  constructor(heartbeat: Heartbeat) {
    this.#heartbeat = heartbeat;
  }

  /**
   * Takes over the accounts of a configuration. Resolves when the connections of removed and moved accounts have ended with their turns.
   */
  async configure(loaded: LoadedConfig, urlOf: (account: AccountConfig) => string): Promise<void> {
    const next = new Map<string, Upstream>();
    for (const account of loaded.config.accounts) {
      const url = urlOf(account);
      const query = queryOf(account);
      const timeouts = timeoutsOf(account, loaded.config.timeouts);
      // A live websocket keeps the credential and the headers of its upgrade, which identify the account's owner.
      const egress = egressOf(account, loaded);
      const identity = JSON.stringify([url, query, timeouts, account.credential, account.headers, egress.identity]);
      const current = this.#byAccount.get(account.id);
      const shared = { query, credentialHeader: credentialHeader(account), timeouts, heartbeat: this.#heartbeat, batches: this.#batches };
      const options = { identity, account: account.id, url, baseUrl: account.base_url, egress, ...shared };
      next.set(account.id, current?.identity === identity ? current : new Upstream(options));
    }
    const old = [...this.#byAccount].filter(([id, upstream]) => next.get(id) !== upstream);
    this.#byAccount = next;
    await Promise.all(old.map(([, upstream]) => upstream.retire()));
  }

  readonly of = (accountId: string): Upstream | undefined => this.#byAccount.get(accountId);

  /** Ends all connections at once. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#byAccount.values()].map((upstream) => upstream.destroy()));
  }
}

const queryOf = (account: AccountConfig): string => (isApiAccount(account) ? new URLSearchParams(account.query).toString() : '');

/** The timeouts of an account. An API account may have its own, because local servers load models and read long prompts (AA6). */
function timeoutsOf(account: AccountConfig, timeouts: Timeouts): UndiciTimeouts {
  const { upstream_connect_ms: connectMs, upstream_first_byte_ms, upstream_idle_ms } = timeouts;
  const { first_byte_ms, idle_ms } = isApiAccount(account) ? account : {};
  return { connectMs, firstByteMs: first_byte_ms ?? upstream_first_byte_ms, idleMs: idle_ms ?? upstream_idle_ms };
}
