// The metrics of tiers and of fallbacks between models (AA72, AA77).
import { dollars } from '../../turn/costs/nanos.ts';
import type { AdminTarget } from '../admin-target.ts';
import type { Metric, Sample } from './metrics-page.ts';

/** @param names the names of the labels, in the order of the cell's name */
const samplesOf = (
  cells: ReadonlyMap<string, number>,
  names: readonly string[],
  unit = (value: number): number => value,
): readonly Sample[] =>
  [...cells].map(([cell, value]) => {
    const parts = cell.split('\n');
    return { labels: Object.fromEntries(names.map((name, i) => [name, parts[i] ?? cell])), value: unit(value) };
  });

export function tierMetrics(gateway: AdminTarget): readonly Metric[] {
  const { spending, turnMetrics: cells } = gateway.services;
  return [
    {
      name: 'overflow_turns_total',
      type: 'counter',
      help: 'Turns that left their base tier, by the tier that took them and what the accounts of the lower ones were',
      labels: ['pool', 'tier', 'reason'],
      samples: () => samplesOf(cells.overflows, ['pool', 'tier', 'reason']),
    },
    {
      name: 'overflow_cost_usd_total',
      type: 'counter',
      help: 'What turns of tiers above 0 cost, in US dollars',
      labels: ['pool', 'tier'],
      samples: () => samplesOf(cells.overflowCosts, ['pool', 'tier'], dollars),
    },
    {
      name: 'overflow_refused_total',
      type: 'counter',
      help: 'Turns that a higher tier did not take: overflow_spent, no_price, no_overflow, or unavailable while the store does not answer',
      labels: ['pool', 'reason'],
      samples: () => samplesOf(cells.overflowsRefused, ['pool', 'reason']),
    },
    {
      name: 'overflow_left_usd',
      type: 'gauge',
      help: 'What is left of a cap in the UTC day or month, in US dollars; tier all is that of all tiers above 0',
      labels: ['pool', 'tier', 'window'],
      samples: () =>
        gateway.loaded.config.pools.flatMap((pool) =>
          spending
            .states(pool)
            .map(({ tier, window, left }) => ({ labels: { pool: pool.id, tier: `${tier ?? 'all'}`, window }, value: left })),
        ),
    },
    {
      name: 'model_fallback_total',
      type: 'counter',
      help: 'Turns that went on to another model of their chain, by the model that was asked for and the one that was tried last',
      labels: ['pool', 'from', 'to'],
      samples: () => samplesOf(cells.fallbacks, ['pool', 'from', 'to']),
    },
  ];
}
