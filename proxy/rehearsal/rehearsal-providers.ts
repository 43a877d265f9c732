// The simulated provider that the current configuration needs. Earlier providers stay until their turns have ended.
import type { Config } from '../config/config.ts';
import { isApiAccount } from '../turn/provider/api-account.ts';
import { isRehearsal, isUnknownPart, rehearsalAddress } from '../turn/provider/rehearsal-address.ts';
import { type AccountConfig, SIMULATED_LOGIN } from '../turn/settings.ts';
import type { ConfiguredAccount, ConfiguredAccounts } from './configured-provider.ts';
import type { RehearsalProvider } from './provider-thread.ts';

/** Starts the provider of a configuration: in a thread of its own, so that its work does not count as the gateway's. */
export type StartRehearsal = (configured: ConfiguredAccounts) => Promise<RehearsalProvider>;

export class RehearsalProviders {
  readonly #start: StartRehearsal;
  #config: Config;
  #current: RehearsalProvider | undefined;
  readonly #open = new Set<RehearsalProvider>();

  private constructor(config: Config, start: StartRehearsal) {
    this.#config = config;
    this.#start = start;
  }

  /** Starts a provider only if the configuration has rehearsal accounts. */
  static async start(config: Config, start: StartRehearsal): Promise<RehearsalProviders> {
    const providers = new RehearsalProviders(config, start);
    await providers.#startNext();
    return providers;
  }

  /** The account's base URL. For a rehearsal account, the address at which the provider listens for it. */
  urlOf({ id, base_url }: AccountConfig): string {
    return isRehearsal(base_url) ? (this.#current?.urlOf(id) ?? base_url) : base_url;
  }

  /**
   * Starts another provider if the rehearsal accounts or the wire words changed.
   * @returns closes the earlier provider; call it when that provider's turns have ended
   */
  async reconfigure(next: Config): Promise<() => Promise<void>> {
    const unchanged = JSON.stringify(settingsOf(next)) === JSON.stringify(settingsOf(this.#config));
    this.#config = next;
    if (unchanged) return () => Promise.resolve();
    const earlier = this.#current;
    await this.#startNext();
    return async () => {
      if (!earlier) return;
      this.#open.delete(earlier);
      await earlier.close();
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((provider) => provider.close()));
  }

  async #startNext(): Promise<void> {
    const settings = settingsOf(this.#config);
    this.#current = settings.accounts.length > 0 ? await this.#start(settings) : undefined;
    if (this.#current) this.#open.add(this.#current);
  }
}

/** The part of a configuration that a provider depends on. */
function settingsOf({ accounts, wire }: Config): ConfiguredAccounts {
  return { accounts: accounts.flatMap((account) => configuredAccount(account) ?? []), wire };
}

/**
 * Undefined for an account that is not simulated, or whose address is not valid. The checks of the configuration refuse such an address.
 */
function configuredAccount(account: AccountConfig): ConfiguredAccount | undefined {
  const address = rehearsalAddress(account.base_url);
  if (!address || isUnknownPart(address)) return undefined;
  const { api, profile, quirks, list } = address;
  if (api === 'agent' || !isApiAccount(account)) return { id: account.id, profile, ...loginOf(account) };
  const { serves, hosted_tools: hostedTools, websocket, compact } = account;
  return { id: account.id, profile, api: { api, quirks, list, serves, hostedTools, websocket, compact } };
}

/** The client id of a login whose addresses are the provider's own. */
function loginOf({ credential }: AccountConfig): Pick<ConfiguredAccount, 'clientId'> {
  const oauth = credential && 'oauth' in credential ? credential.oauth : undefined;
  return oauth?.token_url === SIMULATED_LOGIN ? { clientId: oauth.client_id } : {};
}
