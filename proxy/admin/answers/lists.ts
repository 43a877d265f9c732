// Lists for an operator: Pools, accounts, keys, models and audit rows, as the /mcp tools answer them, and the nodes on the store.
import type { Tool } from '../../mcp/tool.ts';
import { listAccounts } from '../../mcp/tools/list-accounts.ts';
import { listAudit } from '../../mcp/tools/list-audit.ts';
import { listKeys } from '../../mcp/tools/list-keys.ts';
import { listModels } from '../../mcp/tools/list-models.ts';
import { listPools } from '../../mcp/tools/list-pools.ts';
import { serviceStatus } from '../../mcp/tools/service-status.ts';
import { nullable, object } from '../../turn/json/field-schemas.ts';
import type { AdminTarget } from '../admin-target.ts';
import { type Endpoint, endpoint } from '../api/endpoint.ts';
import { ACCOUNTS, accountSettings, KEYS } from '../replies/listing-replies.ts';
import { SHARING } from '../replies/status-reply.ts';

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
  endpoint({
    name: 'GET /api/accounts',
    summary: 'The accounts of your Pools, with state, quota and load.',
    need: 'view',
    ofFile: true,
    query: listAccounts.input,
    reply: ACCOUNTS,
    async answer({ asker, query }) {
      const view = asker.view();
      const { accounts, next_cursor } = await listAccounts.run(query, view);
      const known = new Map(view.accounts.map((account) => [account.id, account]));
      const rows = accounts.flatMap((row) => {
        const account = known.get(row.id);
        return account ? [{ ...row, ...accountSettings(account), ...(!view.isWhole && { base_url: null }) }] : [];
      });
      return { accounts: rows, next_cursor };
    },
  }),
  endpoint({
    name: 'GET /api/keys',
    summary: 'The keys of your Pools, with their limits.',
    need: 'view',
    ofFile: true,
    query: listKeys.input,
    reply: KEYS,
    async answer({ asker, query }) {
      const view = asker.view();
      const { keys, next_cursor } = await listKeys.run(query, view);
      return { keys: keys.map((row) => ({ ...row, secrets: view.key(row.id)?.secret_sha256.length ?? 0 })), next_cursor };
    },
  }),
  answered('GET /api/models', 'The models of your Pools, with their modes.', listModels),
  answered('GET /api/audit', 'Changes, newest first.', listAudit),
];

export const nodes = ({ services }: AdminTarget): Endpoint =>
  endpoint({
    name: 'GET /api/nodes',
    summary: 'The nodes on the store, with their state, version and configuration; null for the only node of a SQLite store.',
    need: 'whole',
    reply: object({ sharing: nullable(SHARING) }),
    async answer() {
      await services.node?.refresh();
      return { sharing: services.node?.status() ?? null };
    },
  });
