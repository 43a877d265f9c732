// /metrics in the text form that Prometheus reads: every counter, and how the store keeps up. Numbers alone, no label of a client's (S4).
import type { Gateway } from '../gateway/gateway.ts';
import { COUNTERS, type CounterName } from '../metrics.ts';
import type { AdminAnswer } from './admin-listener.ts';

type Metric = readonly [name: string, type: 'counter' | 'gauge', help: string, value: number];

export function metricsAnswer({ services: { counters, store }, ready }: Pick<Gateway, 'services' | 'ready'>): AdminAnswer {
  const { queued, written, dropped, rejected } = store.stats();
  const metrics: readonly Metric[] = [
    ['ready', 'gauge', 'Whether the gateway takes traffic', ready ? 1 : 0],
    ...Object.entries(COUNTERS).map(([name, help]) => [`${name}_total`, 'counter', help, counters.values[name as CounterName]] as const),
    ['store_rows_queued', 'gauge', 'Rows that wait to be written', queued],
    ['store_rows_written_total', 'counter', 'Rows written', written],
    ['store_rows_dropped_total', 'counter', 'Log rows that were given up', dropped],
    ['store_rows_rejected_total', 'counter', 'Rows that no disk would take', rejected],
  ];
  const lines = metrics.map(
    ([name, type, help, value]) => `# HELP poolgate_${name} ${help}\n# TYPE poolgate_${name} ${type}\npoolgate_${name} ${value}\n`,
  );
  return { status: 200, type: 'text/plain; version=0.0.4; charset=utf-8', body: lines.join('') };
}
