// The provider thread that the current configuration needs, and earlier ones that still serve turns in flight.
import type { Config } from '../config/config.ts';
import { isApiAccount } from '../turn/provider/api-account.ts';
import { isRehearsal, isUnknownPart, rehearsalAddress } from '../turn/provider/rehearsal-address.ts';
import { type AccountConfig, SIMULATED_LOGIN } from '../turn/settings.ts';
import { type ProviderThread, startProviderThread } from './provider-thread.ts';
import type { ThreadAccount } from './provider-worker.ts';

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
    return isRehearsal(base_url) ? (this.#current?.urlOf(id) ?? base_url) : base_url;
  }

  /** Starts another provider if the rehearsal accounts or the wire words changed. @returns closes the earlier one; call it when its turns are over */
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
function settingsOf({ accounts, wire }: Config): { readonly accounts: readonly ThreadAccount[]; readonly wire: Config['wire'] } {
  return { accounts: accounts.flatMap((account) => threadAccount(account) ?? []), wire };
}

/** Undefined for an account that is not simulated, and for an address that means nothing: the checks of the configuration refuse it. */
function threadAccount(account: AccountConfig): ThreadAccount | undefined {
  const address = rehearsalAddress(account.base_url);
  if (!address || isUnknownPart(address)) return undefined;
  const { api, profile, quirks, list } = address;
  if (api === 'agent' || !isApiAccount(account)) return { id: account.id, profile, ...loginOf(account) };
  const { serves, hosted_tools: hostedTools, websocket, compact } = account;
  return { id: account.id, profile, api: { api, quirks, list, serves, hostedTools, websocket, compact } };
}

/** A login whose addresses are the provider's own. */
function loginOf({ credential }: AccountConfig): Pick<ThreadAccount, 'clientId'> {
  const oauth = credential && 'oauth' in credential ? credential.oauth : undefined;
  return oauth?.token_url === SIMULATED_LOGIN ? { clientId: oauth.client_id } : {};
}
