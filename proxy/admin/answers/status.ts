// GET /api/status: the state of the running gateway.
import { machine } from '../../base/process/machine.ts';
import type { Config } from '../../config/config.ts';
import { redact, versionOf } from '../../config/config-diff.ts';
import { presetName } from '../../turn/provider/api-account.ts';
import { tiersOf } from '../../turn/tiers.ts';
import type { AdminTarget } from '../admin-target.ts';
import { type Endpoint, endpoint } from '../api/endpoint.ts';
import { type PoolStatus, STATUS, type StatusReply } from '../replies/status-reply.ts';

export const status = (gateway: AdminTarget): Endpoint =>
  endpoint({
    name: 'GET /api/status',
    summary: 'The state of the running gateway, with its configuration; `poolgate status` prints it.',
    need: 'whole',
    reply: STATUS,
    async answer() {
      await gateway.services.node?.refresh();
      return statusOf(gateway);
    },
  });

/** The state. Programs read the members of `StatusReply`, and the others are for people. */
function statusOf(gateway: AdminTarget): StatusReply & Readonly<Record<string, unknown>> {
  const { config } = gateway.loaded;
  const { capacity, catalog, counters, guard, node, store, usage } = gateway.services;
  const sharing = node?.status();
  const { accounts, admission } = capacity.status();
  const configured = new Map(config.accounts.map((account) => [account.id, account]));
  return {
    version: versionOf(config),
    now: gateway.now(),
    started_at: new Date(gateway.startedAt).toISOString(),
    ready: gateway.ready,
    node: process.version,
    machine: machine(),
    accounts: accounts.map((status) => {
      const account = configured.get(status.account);
      const { api = 'agent', paused = false, visible = false, max_concurrent = 0 } = account ?? {};
      return { ...status, api, preset: (account && presetName(account)) ?? null, paused, visible, maxConcurrent: max_concurrent };
    }),
    pools: poolsOf(gateway),
    admission: Object.fromEntries(
      Object.entries(admission).map(([name, status]) => {
        const { running, waiting } = config.admission[name as keyof Config['admission']];
        return [name, { ...status, limits: { running, waiting } }];
      }),
    ),
    guard: guard.status(),
    catalogs: catalog.accounts.status(),
    quota: usage.quota.status(),
    ...(sharing && { sharing }),
    store: { ...store.stats(), in_use: store.inUse(), ...store.database() },
    reload_refused: !gateway.follower.lastReloadSucceeded,
    counters: counters.values,
    config: redact(config),
  };
}

const poolsOf = ({ loaded, services }: AdminTarget): readonly PoolStatus[] =>
  loaded.config.pools.map((pool) => ({
    pool: pool.id,
    strategy: pool.strategy,
    accounts: pool.assignments.map(({ account }) => account),
    assigned: pool.assignments.flatMap(({ account, active, eligible }) => (active && eligible ? account : [])),
    models: services.models.models(pool).exposed(),
    ...(tiersOf(pool).caps.length > 0 && { overflow: services.spending.states(pool) }),
  }));
