// The API of each account.
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import { agentApi } from './agent/agent-api.ts';
import { chatApi } from './chat/chat-api.ts';
import type { ProviderServices } from './provider-services.ts';
import { responsesApi } from './responses/responses-api.ts';

export function providersWith(services: ProviderServices): ProviderOf {
  const apis = { agent: agentApi, chat: chatApi(services), responses: responsesApi(services) };
  return ({ api }) => apis[api];
}

/** For explanations outside a gateway, which send nothing. */
export const explainedProviders: ProviderOf = providersWith({ clock: Date, key: { digest: () => ({ of: (value) => value }) } });
