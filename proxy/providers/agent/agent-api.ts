// The API of agent backends. Native turns are passed to them unchanged, and their replies already are Responses events.
import { inBandFailure, statusFailure } from '../../turn/errors/failure.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import { agentCatalog } from './agent-catalog.ts';
import { agentCompaction } from './agent-compaction.ts';
import { agentFiles } from './agent-files.ts';
import { agentQuota } from './agent-quota.ts';
import { agentRequests } from './agent-requests.ts';

export const agentApi: ProviderApi = {
  name: 'agent',
  requests: agentRequests,
  replies: { headers: (headers) => headers },
  failures: { ofStatus: ({ status, headers, body }, { now }) => statusFailure(status, headers, body, now), inBand: inBandFailure },
  compaction: agentCompaction,
  quota: agentQuota,
  catalog: agentCatalog,
  files: agentFiles,
};
