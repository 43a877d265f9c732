// The API of each account.
import type { ProviderOf } from '../turn/provider/provider-api.ts';
import { agentApi } from './agent/agent-api.ts';

export const providerOf: ProviderOf = () => agentApi;
