// THE METRICS of the gateway, each with its name, help text and labels, and with the source of its value.
import type { Durations } from '../../base/time/durations.ts';
import { dollars } from '../../turn/costs/nanos.ts';
import type { AdminTarget } from '../admin-target.ts';
import { accountMetrics } from './account-metrics.ts';
import type { DurationsOf, Metric, Sample } from './metrics-page.ts';
import { databaseMetrics, nodeMetrics } from './node-metrics.ts';
import { counterMetrics, processMetrics } from './process-metrics.ts';
import { tierMetrics } from './tier-metrics.ts';
import { type FamilyCells, OTHER, type TurnMetrics } from './turn-metrics.ts';

export function gatewayMetrics(gateway: AdminTarget): readonly Metric[] {
  return [
    ...processMetrics(gateway),
    ...counterMetrics(gateway.services.counters),
    ...turnMetrics(gateway),
    ...tierMetrics(gateway),
    ...accountMetrics(gateway),
    ...databaseMetrics(gateway.services.store),
    ...nodeMetrics(gateway),
  ];
}

function turnMetrics(gateway: AdminTarget): readonly Metric[] {
  const { capacity, turnMetrics: cells } = gateway.services;
  // Read again each time, because a reload replaces the configuration.
  const config = () => gateway.loaded.config;
  /** The accounts by the label that rows contain. */
  const labelled = () => new Map(config().accounts.map((account) => [account.label, account]));
  return [
    {
      name: 'turns_ended_total',
      type: 'counter',
      help: 'Requests and websocket turns that ended, by route family, API of the client, status class and error code (empty: none)',
      labels: ['family', 'surface', 'status', 'code'],
      samples: () =>
        byFamily(cells).flatMap(({ labels, turns }) =>
          [...turns].flatMap(([code, counts]) =>
            counts.flatMap((value, digit) => (value > 0 ? { labels: { ...labels, status: `${digit}xx`, code }, value } : [])),
          ),
        ),
    },
    {
      name: 'turn_duration_seconds',
      type: 'histogram',
      help: 'Time from the beginning of a turn to its end',
      labels: ['family', 'surface'],
      cells: () => byFamily(cells).map(({ labels, duration }) => ({ labels, durations: duration })),
    },
    {
      name: 'turn_first_event_seconds',
      type: 'histogram',
      help: 'Time from the beginning of a turn to the first event or byte of its reply that was passed on',
      labels: ['family', 'surface'],
      cells: () => byFamily(cells).map(({ labels, firstEvent }) => ({ labels, durations: firstEvent })),
    },
    {
      name: 'tokens_total',
      type: 'counter',
      help: 'Tokens of turns by exposed model and kind; cached_input is a part of input',
      labels: ['model', 'kind'],
      samples: () =>
        [...cells.models].flatMap(([model, { input, cachedInput, output }]) => [
          { labels: { model, kind: 'input' }, value: input },
          { labels: { model, kind: 'cached_input' }, value: cachedInput },
          { labels: { model, kind: 'output' }, value: output },
        ]),
    },
    {
      name: 'cost_usd_total',
      type: 'counter',
      help: 'Cost of turns in US dollars by key, at the prices of the configuration',
      labels: ['key'],
      samples: () => {
        const known = new Set(config().keys.map(({ id }) => id));
        return summed([...cells.costs].map(([key, nanos]) => ({ labels: { key: known.has(key) ? key : OTHER }, value: dollars(nanos) })));
      },
    },
    {
      name: 'account_attempts_total',
      type: 'counter',
      help: 'Attempts by account and outcome: answered, unfinished, or the class of the failure',
      labels: ['account', 'api', 'outcome'],
      samples: () => {
        const known = labelled();
        const samples = [...cells.accounts].flatMap(([label, { attempts }]) => {
          const { id = OTHER, api = OTHER } = known.get(label) ?? {};
          return [...attempts].map(([outcome, value]) => ({ labels: { account: id, api, outcome }, value }));
        });
        return summed(samples);
      },
    },
    {
      name: 'adapted_total',
      type: 'counter',
      help: 'Attempts whose request lost or changed something for its account, by the name of that',
      labels: ['account', 'name'],
      samples: () => {
        const known = labelled();
        return summed(
          [...cells.accounts].flatMap(([label, { adapted }]) =>
            [...adapted].map(([name, value]) => ({ labels: { account: known.get(label)?.id ?? OTHER, name }, value })),
          ),
        );
      },
    },
    {
      name: 'usage_estimated_total',
      type: 'counter',
      help: 'Turns of API accounts whose usage was estimated, because it was missing or could not be right',
      labels: ['account'],
      samples: () => {
        const known = labelled();
        const samples = [...cells.accounts].filter(([, { estimated }]) => estimated > 0);
        return summed(samples.map(([label, { estimated }]) => ({ labels: { account: known.get(label)?.id ?? OTHER }, value: estimated })));
      },
    },
    {
      name: 'failovers_total',
      type: 'counter',
      help: 'Attempts after the first of their turn, by the failure before them',
      labels: ['cause'],
      samples: () => [...cells.failovers].map(([cause, value]) => ({ labels: { cause }, value })),
    },
    {
      name: 'models_unlisted',
      type: 'gauge',
      help: 'Models of a Pool that lists of native clients leave out, because their entry lacks a member that such clients need',
      labels: ['pool'],
      samples: () => config().pools.map((pool) => ({ labels: { pool: pool.id }, value: gateway.services.models.unlisted(pool).length })),
    },
    {
      name: 'retry_budget_left',
      type: 'gauge',
      help: 'Retries that the budget of a Pool allows at this moment; of Pools that had turns',
      labels: ['pool'],
      samples: () => {
        const pools = new Set(config().pools.map(({ id }) => id));
        const left = gateway.services.retryBudgets.left(gateway.now());
        return left.flatMap(([pool, value]) => (pools.has(pool) ? { labels: { pool }, value } : []));
      },
    },
    ...(['running', 'waiting'] as const).flatMap((what): readonly Metric[] => [
      {
        name: `class_${what}`,
        type: 'gauge',
        help: `Turns of a route class, or streams of the class stream, that are ${what}`,
        labels: ['class'],
        samples: () =>
          Object.entries(capacity.status().admission).map(([name, status]) => ({ labels: { class: name }, value: status[what] })),
      },
      {
        name: `class_${what}_limit`,
        type: 'gauge',
        help: `Most turns of a route class that may be ${what}`,
        labels: ['class'],
        samples: () => Object.entries(config().admission).map(([name, limits]) => ({ labels: { class: name }, value: limits[what] })),
      },
    ]),
    {
      name: 'class_wait_seconds',
      type: 'histogram',
      help: 'Time that turns waited for a slot of their route class, of those that waited and got one',
      labels: ['class'],
      cells: () => byClass(capacity.admission.waits('slot')),
    },
    {
      name: 'account_wait_seconds',
      type: 'histogram',
      help: 'Time that turns with a slot waited for an account below its max_concurrent, of those that waited and got one',
      labels: ['class'],
      cells: () => byClass(capacity.admission.waits('account')),
    },
  ];
}

const byFamily = ({ families }: TurnMetrics): readonly (FamilyCells & Pick<Sample, 'labels'>)[] =>
  [...families].flatMap(([family, surfaces]) => [...surfaces].map(([surface, cells]) => ({ ...cells, labels: { family, surface } })));

const byClass = (waits: Iterable<readonly [string, Durations]>): readonly DurationsOf[] =>
  [...waits].map(([name, durations]) => ({ labels: { class: name }, durations }));

/** Adds the samples that have equal labels. */
function summed(samples: readonly Sample[]): readonly Sample[] {
  const sums = new Map<string, Sample>();
  for (const sample of samples) {
    const name = JSON.stringify(sample.labels);
    sums.set(name, { ...sample, value: (sums.get(name)?.value ?? 0) + sample.value });
  }
  return [...sums.values()];
}
