// The metrics of a database that several nodes share. They do not exist if the store has one node.
import type { DatabaseStats, Store } from '../../../store/store.ts';
import type { Metric } from './metrics-page.ts';

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

export function databaseMetrics(store: Pick<Store, 'database'>): readonly Metric[] {
  if (!store.database()) return [];
  const read = (of: (stats: DatabaseStats) => number): number => {
    const stats = store.database();
    return stats ? of(stats) : 0;
  };
  return METRICS.map(({ of, ...metric }) => ({ ...metric, read: () => read(of) }));
}
