// The metrics of the process: its state, its counters, what it holds in memory, its load, and its writes to the store.
import { X509Certificate } from 'node:crypto';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import manifest from '../../../package.json' with { type: 'json' };
import { COUNTERS, type CounterName, type Counters } from '../../base/process/metrics.ts';
import type { AdminTarget } from '../admin-target.ts';
import type { Metric, Sample } from './metrics-page.ts';

/** The counters of the process, each as a metric of its own. */
export const counterMetrics = ({ values }: Counters): readonly Metric[] =>
  Object.entries(COUNTERS).map(([name, help]) => ({
    name: `${name}_total`,
    type: 'counter',
    help,
    read: () => values[name as CounterName],
  }));

const certificateExpiry = (pem: string | undefined): readonly Sample[] =>
  pem === undefined ? [] : [{ labels: { listener: 'listen' }, value: Date.parse(new X509Certificate(pem).validTo) / 1000 }];

export function processMetrics(gateway: AdminTarget): readonly Metric[] {
  const { services, websockets, follower } = gateway;
  const { bodies, capsules, guard, histories, replies, store, uploads } = services;
  return [
    { name: 'ready', type: 'gauge', help: 'Whether the gateway takes traffic', read: () => (gateway.ready ? 1 : 0) },
    {
      name: 'build_info',
      type: 'gauge',
      help: 'Version of the gateway and of Node; always 1',
      labels: ['version', 'node'],
      samples: () => [{ labels: { version: manifest.version, node: process.version }, value: 1 }],
    },
    {
      name: 'start_time_seconds',
      type: 'gauge',
      help: 'When the gateway started, Unix seconds',
      read: () => gateway.startedAt / 1000,
    },
    {
      name: 'config_last_reload_successful',
      type: 'gauge',
      help: 'Whether the last reload of the configuration took effect; 1 before the first',
      read: () => (follower.lastReloadSucceeded ? 1 : 0),
    },
    {
      name: 'certificate_expiry_time_seconds',
      type: 'gauge',
      help: 'When the certificate of a listener with TLS expires, Unix seconds',
      labels: ['listener'],
      samples: () => certificateExpiry(gateway.loaded.listenTls?.cert),
    },
    {
      name: 'event_loop_lag_seconds',
      type: 'gauge',
      help: 'How late the event loop ran since the last scrape',
      labels: ['quantile'],
      samples: eventLoopLag(),
    },
    { name: 'websockets_open', type: 'gauge', help: 'Client websockets that are open', read: () => websockets.count },
    {
      name: 'websocket_bytes_held',
      type: 'gauge',
      help: 'Bytes that websocket clients have not read yet, and those kept for clients that may come back',
      read: () => websockets.heldBytes,
    },
    {
      name: 'websocket_history_bytes',
      type: 'gauge',
      help: 'Bytes of the inputs and outputs that are kept with websockets, for accounts that continue no response themselves',
      read: () => histories.bytes,
    },
    {
      name: 'capsules_total',
      type: 'counter',
      help: "Capsules in clients' items that were sealed, opened, or refused because they were made for another Pool or with another key",
      labels: ['result'],
      samples: () => Object.entries(capsules.results).map(([result, value]) => ({ labels: { result }, value })),
    },
    { name: 'sessions_owned', type: 'gauge', help: 'Sessions that are leased to this node', read: () => websockets.ownedSessions },
    {
      name: 'body_bytes_held',
      type: 'gauge',
      help: 'Bytes of request bodies and websocket frames that are being read',
      read: () => bodies.held,
    },
    {
      name: 'dense_json_bytes_held',
      type: 'gauge',
      help: 'Memory of the JSON of running turns beyond a multiple of its bytes',
      read: () => bodies.dense.held,
    },
    {
      name: 'reply_bytes_held',
      type: 'gauge',
      help: 'Bytes of replies that turns hold, including those kept for clients that may come back',
      read: () => replies.held,
    },
    {
      name: 'upload_bytes_held',
      type: 'gauge',
      help: 'Bytes of streaming uploads that were read and not yet passed on',
      read: () => uploads.held,
    },
    { name: 'upload_bytes_held_max', type: 'gauge', help: 'Most bytes that one streaming upload has held', read: () => uploads.most },
    {
      name: 'guard_refusing',
      type: 'gauge',
      help: 'Whether new turns are refused for the load of the process',
      read: () => (guard.status().refusing === null ? 0 : 1),
    },
    {
      name: 'guard_event_loop_delay_seconds',
      type: 'gauge',
      help: 'Mean delay of the event loop when the last turn arrived',
      read: () => guard.status().event_loop_ms / 1_000,
    },
    {
      name: 'guard_memory_ratio',
      type: 'gauge',
      help: 'Memory of the process as a share of what it may use, when the last turn arrived',
      read: () => guard.status().memory_percent / 100,
    },
    {
      name: 'store_writable',
      type: 'gauge',
      help: 'Whether the last write to the store succeeded',
      read: () => Number(store.stats().failing_since === null),
    },
    {
      name: 'store_in_use',
      type: 'gauge',
      help: 'Whether another gateway has the SQLite file',
      read: () => Number(store.inUse()),
    },
    { name: 'store_rows_queued', type: 'gauge', help: 'Rows that wait to be written', read: () => store.stats().queued },
    { name: 'store_rows_written_total', type: 'counter', help: 'Rows written', read: () => store.stats().written },
    { name: 'store_rows_dropped_total', type: 'counter', help: 'Log rows that were dropped', read: () => store.stats().dropped },
    {
      name: 'store_rows_rejected_total',
      type: 'counter',
      help: 'Rows that the database refused for their content',
      read: () => store.stats().rejected,
    },
  ];
}

/** Measured from the first scrape, so that a gateway without Prometheus has no timer for it. */
function eventLoopLag(): () => readonly Sample[] {
  const RESOLUTION_MS = 20;
  let delays: ReturnType<typeof monitorEventLoopDelay> | undefined;
  return () => {
    if (!delays) {
      delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
      delays.enable();
    }
    const measured = delays;
    const late = (nanos: number): number => (measured.count === 0 ? 0 : Math.max(0, nanos / 1e9 - RESOLUTION_MS / 1000));
    const samples = [
      { labels: { quantile: '0.5' }, value: late(measured.percentile(50)) },
      { labels: { quantile: '0.99' }, value: late(measured.percentile(99)) },
      { labels: { quantile: '1' }, value: late(measured.max) },
    ];
    measured.reset();
    return samples;
  };
}
