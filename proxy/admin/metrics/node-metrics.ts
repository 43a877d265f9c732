// The metrics of what several nodes share. They do not exist if the store has one node.
import type { DatabaseStats, Store } from '../../../store/store.ts';
import type { AdminTarget, NodeTarget } from '../admin-target.ts';
import type { Metric } from './metrics-page.ts';

export function nodeMetrics(gateway: AdminTarget): readonly Metric[] {
  const { node } = gateway.services;
  return node ? metricsOf(node, () => gateway.now()) : [];
}

function metricsOf(node: NodeTarget, now: () => number): readonly Metric[] {
  const ofThis = () => node.status().nodes.find(({ state }) => state === 'this');
  return [
    {
      name: 'node_up',
      type: 'gauge',
      help: 'Whether a node is alive; one that ended without leaving is 0 for a day',
      labels: ['node'],
      samples: () => node.status().nodes.map(({ node: id, state }) => ({ labels: { node: id }, value: state === 'dead' ? 0 : 1 })),
    },
    {
      name: 'node_config_differs',
      type: 'gauge',
      help: 'Whether the configuration of a running node differs from that of this one',
      labels: ['node'],
      samples: () =>
        node
          .status()
          .nodes.flatMap(({ node: id, state, differs }) => (state === 'dead' ? [] : { labels: { node: id }, value: differs ? 1 : 0 })),
    },
    {
      name: 'node_lease_seconds',
      type: 'gauge',
      help: 'Time until the lease of this node expires; 0 if it was lost',
      read: () => Math.max(0, ((ofThis()?.lease_until ?? 0) - now()) / 1_000),
    },
    {
      name: 'node_leases',
      type: 'gauge',
      help: 'Leases of this node, such as those of probes and of reads',
      read: () => ofThis()?.leases ?? 0,
    },
    {
      name: 'account_slots_held',
      type: 'gauge',
      help: 'Part of the max_concurrent of an account that this node has',
      labels: ['account'],
      samples: () => Object.entries(node.status().slots).map(([account, value]) => ({ labels: { account }, value })),
    },
    {
      name: 'settlements_waiting',
      type: 'gauge',
      help: 'Ended turns of keys with limits whose usage waits to be written',
      read: () => node.settlements.waiting,
    },
    {
      name: 'settlements_rejected_total',
      type: 'counter',
      help: 'Ended turns of keys with limits whose usage the store did not accept',
      read: () => node.settlements.rejected,
    },
  ];
}

interface DatabaseMetric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  readonly of: (stats: DatabaseStats) => number;
}

const METRICS: readonly DatabaseMetric[] = [
  { name: 'store_reachable', type: 'gauge', help: 'Whether the database answers', of: ({ reachable }) => Number(reachable) },
  {
    name: 'store_feed_connected',
    type: 'gauge',
    help: 'Whether changes of other nodes arrive at once; else they are polled',
    of: ({ feed_connected }) => Number(feed_connected),
  },
  { name: 'store_feed_losses_total', type: 'counter', help: 'Lost connections of the feed', of: ({ feed_losses }) => feed_losses },
  { name: 'store_connections', type: 'gauge', help: 'Open connections to the database', of: ({ connections }) => connections },
  { name: 'store_connections_waiting', type: 'gauge', help: 'Statements that wait for a connection', of: ({ waiting }) => waiting },
  {
    name: 'store_clock_difference_seconds',
    type: 'gauge',
    help: "How far the database's clock is ahead of this machine's",
    of: ({ clock_difference_ms }) => clock_difference_ms / 1_000,
  },
];

/** The metrics of a database that several nodes share. They do not exist if the store has one node. */
export function databaseMetrics(store: Pick<Store, 'database'>): readonly Metric[] {
  if (!store.database()) return [];
  const read = (of: (stats: DatabaseStats) => number): number => {
    const stats = store.database();
    return stats ? of(stats) : 0;
  };
  return METRICS.map(({ of, ...metric }) => ({ ...metric, read: () => read(of) }));
}
