// Renders metrics in the Prometheus text format. prom-client is loaded by the first scrape, so that it does not delay the start.
import type { Registry } from 'prom-client';
import { DURATION_BUCKETS, type Durations } from '../../base/time/durations.ts';

export type Labels = Readonly<Record<string, string>>;

/** One value of a metric with labels. */
export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** The durations of a histogram with these labels. */
export interface DurationsOf {
  readonly labels: Labels;
  readonly durations: Durations;
}

interface Described {
  /** The name without the prefix `poolgate_`. */
  readonly name: string;
  readonly help: string;
}

/** A metric. The values of its labels come from a closed set or from the configuration, never from a client or provider (S4). */
export type Metric =
  | (Described & { readonly type: 'counter' | 'gauge'; readonly read: () => number })
  | (Described & { readonly type: 'counter' | 'gauge'; readonly labels: readonly string[]; readonly samples: () => Iterable<Sample> })
  | (Described & { readonly type: 'histogram'; readonly labels: readonly string[]; readonly cells: () => Iterable<DurationsOf> });

const PREFIX = 'poolgate_';

export class MetricsPage {
  /** The content type of the page: text format 0.0.4. */
  readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  readonly #metrics: readonly Metric[];
  #registry: Promise<Registry> | undefined;

  constructor(metrics: readonly Metric[]) {
    this.#metrics = metrics;
  }

  async text(): Promise<string> {
    this.#registry ??= registryOf(this.#metrics);
    const registry = await this.#registry;
    // prom-client separates metrics with an empty line.
    return (await registry.metrics()).replaceAll('\n\n', '\n');
  }
}

async function registryOf(metrics: readonly Metric[]): Promise<Registry> {
  const { Counter, Gauge, Histogram, Registry } = await import('prom-client');
  const registry = new Registry();

  /** A histogram whose buckets are counted elsewhere. prom-client has no way to set the buckets of its own. */
  class CellHistogram extends Histogram<string> {
    readonly #described: Described;
    readonly #values: () => readonly object[];

    constructor({ name, help, labels, cells }: Extract<Metric, { readonly type: 'histogram' }>) {
      const full = `${PREFIX}${name}`;
      super({ name: full, help, labelNames: [...labels], buckets: [...DURATION_BUCKETS], registers: [registry] });
      this.#described = { name: full, help };
      this.#values = () => bucketValues(full, cells());
    }

    /** Called by prom-client to render the text. */
    async getForPromString(): Promise<object> {
      return { ...this.#described, type: 'histogram', values: this.#values(), aggregator: 'sum' };
    }
  }

  for (const metric of metrics) {
    if (metric.type === 'histogram') {
      new CellHistogram(metric);
      continue;
    }
    const samples = 'samples' in metric ? metric.samples : (): readonly Sample[] => [{ labels: {}, value: metric.read() }];
    const labelNames = 'labels' in metric ? [...metric.labels] : [];
    const options = { name: `${PREFIX}${metric.name}`, help: metric.help, labelNames, registers: [registry] };
    if (metric.type === 'gauge') {
      new Gauge({
        ...options,
        collect() {
          this.reset();
          for (const { labels, value } of samples()) this.set(labels, value);
        },
      });
    } else {
      new Counter({
        ...options,
        collect() {
          this.reset();
          for (const { labels, value } of samples()) this.inc(labels, value);
        },
      });
    }
  }
  return registry;
}

function bucketValues(name: string, cells: Iterable<DurationsOf>): readonly object[] {
  return [...cells].flatMap(({ labels, durations: { counts, sumMs } }) => {
    let total = 0;
    const buckets = counts.map((count, i) => {
      total += count;
      return { labels: { ...labels, le: DURATION_BUCKETS[i] ?? '+Inf' }, value: total, metricName: `${name}_bucket` };
    });
    return [...buckets, { labels, value: sumMs / 1000, metricName: `${name}_sum` }, { labels, value: total, metricName: `${name}_count` }];
  });
}
