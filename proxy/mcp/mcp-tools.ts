// The tools of /mcp (Q25).
import type { Tool } from './tool.ts';
import { explainSelection } from './tools/explain-selection.ts';
import { listAccounts } from './tools/list-accounts.ts';
import { listAudit } from './tools/list-audit.ts';
import { listKeys } from './tools/list-keys.ts';
import { listModels } from './tools/list-models.ts';
import { listPools } from './tools/list-pools.ts';
import { listRequests } from './tools/list-requests.ts';
import { serviceStatus } from './tools/service-status.ts';
import { usageSummary } from './tools/usage-summary.ts';

export const TOOLS: readonly Tool[] = [
  serviceStatus,
  listPools,
  listAccounts,
  listKeys,
  listModels,
  listRequests,
  listAudit,
  usageSummary,
  explainSelection,
];
