// Finds the API of each account. An API that no account has is not loaded, so that it does not delay the start.
import type { ProviderApi, ProviderOf } from '../turn/provider/provider-api.ts';
import type { AccountConfig } from '../turn/settings.ts';
import type { ProviderServices } from './provider-services.ts';

type Named = Pick<AccountConfig, 'api'>;

const APIS: Readonly<Record<AccountConfig['api'], (services: ProviderServices) => Promise<ProviderApi>>> = {
  agent: async () => (await import('./agent/agent-api.ts')).agentApi,
  chat: async (services) => (await import('./chat/chat-api.ts')).chatApi(services),
  responses: async (services) => (await import('./responses/responses-api.ts')).responsesApi(services),
};

export class Providers {
  readonly #services: ProviderServices;
  readonly #loaded = new Map<AccountConfig['api'], ProviderApi>();

  constructor(services: ProviderServices) {
    this.#services = services;
  }

  /** Loads the APIs of these accounts. Call it before they are used. */
  async load(accounts: readonly Named[]): Promise<void> {
    for (const api of new Set(accounts.map((account) => account.api))) {
      if (!this.#loaded.has(api)) this.#loaded.set(api, await APIS[api](this.#services));
    }
  }

  readonly of: ProviderOf = ({ api }) => {
    const provider = this.#loaded.get(api);
    if (!provider) throw new Error(`the API ${api} is not loaded`);
    return provider;
  };
}

/** The APIs for explanations outside a gateway, which send nothing. */
export async function explainedProviders(accounts: readonly Named[]): Promise<ProviderOf> {
  const providers = new Providers({ clock: Date, key: { digest: () => ({ of: (value) => value }) } });
  await providers.load(accounts);
  return providers.of;
}
