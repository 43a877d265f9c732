// What an operator sees of Pools, accounts, keys, models and the audit: the answers of the tools of /mcp, on the admin API.

import type { Tool } from '../../mcp/tool.ts';
import { listAccounts } from '../../mcp/tools/list-accounts.ts';
import { listAudit } from '../../mcp/tools/list-audit.ts';
import { listKeys } from '../../mcp/tools/list-keys.ts';
import { listModels } from '../../mcp/tools/list-models.ts';
import { listPools } from '../../mcp/tools/list-pools.ts';
import { serviceStatus } from '../../mcp/tools/service-status.ts';
import { type Endpoint, endpoint } from '../api/endpoint.ts';

const answered = (name: Endpoint['name'], summary: string, tool: Tool): Endpoint =>
  endpoint({
    name,
    summary,
    need: 'view',
    query: tool.input,
    reply: tool.output,
    answer: ({ asker, query }) => tool.run(query, asker.view()),
  });

export const LISTS: readonly Endpoint[] = [
  answered('GET /api/overview', 'The state of the gateway and of your Pools, and what needs an operator.', serviceStatus),
  answered('GET /api/pools', 'Your Pools.', listPools),
  answered('GET /api/accounts', 'The accounts of your Pools, with state, quota and load.', listAccounts),
  answered('GET /api/keys', 'The keys of your Pools, with their limits.', listKeys),
  answered('GET /api/models', 'The models of your Pools, with their modes.', listModels),
  answered('GET /api/audit', 'Changes, newest first.', listAudit),
];
