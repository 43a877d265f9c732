// The metrics of what several nodes share. They do not exist if the store has one node.
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
