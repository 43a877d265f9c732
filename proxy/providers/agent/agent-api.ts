// The API of agent backends. Native turns are passed to them unchanged, and their replies already are Responses events.
import { inBandFailure, statusFailure } from '../../turn/errors/failure.ts';
import type { ProviderApi } from '../../turn/provider/provider-api.ts';
import { agentCatalog } from './catalog.ts';
import { agentCompaction } from './compaction.ts';
import { agentFiles } from './files.ts';
import { agentQuota } from './quota.ts';
import { agentRequests } from './requests.ts';

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
