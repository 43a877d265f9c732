// `service_status`: whether the gateway and the operator's Pools work, and what needs an operator.
import type { RequestOutcome } from '../../../store/store.ts';
import { args, counts, flag, integer, list, nullable, object, text, time, type ValueOf } from '../../turn/json/field-schemas.ts';
import { CONDITION_TEXT, CONDITIONS, conditionsOf } from '../account-condition.ts';
import { MATTERS, mattersOf } from '../attention.ts';
import type { OperatorView } from '../operator-view.ts';
import { iso, isoOrNull } from '../times.ts';
import { tool } from '../tool.ts';

/** The period of the sample. It is bounded, because counting all rows of a busy hour would read millions. */
const RECENT_MS = 3_600_000;
const MOST_RECENT = 1_000;

const RECENT = object(
  {
    count: integer(`Number of requests, at most ${MOST_RECENT}: the newest of the last hour.`),
    since: nullable(time('Arrival of the first of them.')),
    by_status_class: counts('2xx to 5xx to the number of requests.'),
    by_code: counts('Error code to the number of requests.'),
    retried: integer('Requests that went to more than one account.'),
    duration_ms: nullable(
      object({
        p50: integer('Half took at most this long.'),
        p95: integer('95 of 100 took at most this long.'),
        max: integer('The slowest.'),
      }),
    ),
  },
  'The newest requests through your Pools.',
);

export const serviceStatus = tool({
  name: 'service_status',
  title: 'Status',
  description:
    'Shows the current time, whether the gateway takes traffic, the state of your Pools and accounts, what needs an operator (attention), and how the ' +
    'newest requests ended. Use it first for "is everything all right", and to learn what time it is.',
  input: args({}),
  output: object({
    now: time('The time of the gateway.'),
    operator: text('Your operator id.'),
    ready: flag('Whether the gateway takes traffic.'),
    started_at: time('When it started.'),
    uptime_seconds: integer('Seconds since then.'),
    config_version: text('Digest of the running configuration: equal for equal settings.'),
    attention: list('What needs an operator, one sentence each; empty if nothing does.', text('A sentence.')),
    matters: MATTERS,
    pools: list(
      'Your Pools.',
      object({
        id: text('Id of the Pool.'),
        label: text('Its label.'),
        accounts: integer('Accounts that are assigned to it.'),
        available_accounts: integer('Those that take turns now.'),
        routable_models: integer('Models that turns can get.'),
      }),
    ),
    accounts: counts(`State to the number of your accounts. ${CONDITION_TEXT}`),
    in_flight: integer('Turns of your Pools that run at accounts now.'),
    admission: list(
      'Turns of your Pools, by route class; the maximum is that of the whole gateway. Waiting turns are slow before they reach an account.',
      object({
        class: text('Route class.'),
        running: integer('Turns that run.'),
        max_running: integer('Turns that may run at the same time.'),
        waiting: integer('Turns that wait.'),
        max_waiting: integer('Turns that may wait; more get 503 server_is_overloaded.'),
      }),
    ),
    recent_requests: RECENT,
  }),
  async run(_input, view) {
    const { process, services } = view;
    const at = view.now();
    const conditions = conditionsOf(view.accounts, view.services);
    const count = (state: string): number => [...conditions.values()].filter((condition) => condition.state === state).length;
    const states = CONDITIONS.map((state) => [state, count(state)] as const).filter(([, number]) => number > 0);
    const { admission } = view.settings;
    const matters = mattersOf(view, conditions, (index) => routableModels(view, index));
    return {
      now: iso(at),
      operator: view.operator,
      ready: process.ready,
      started_at: iso(process.startedAt),
      uptime_seconds: Math.max(0, Math.floor((at - process.startedAt) / 1000)),
      config_version: view.configVersion,
      attention: matters.map((matter) => matter.text),
      matters,
      pools: view.pools.map(({ id, label, assignments }, index) => ({
        id,
        label,
        accounts: assignments.length,
        available_accounts: assignments.filter(
          ({ account, active, eligible }) => active && eligible && conditions.get(account)?.state === 'available',
        ).length,
        routable_models: routableModels(view, index),
      })),
      accounts: Object.fromEntries(states),
      in_flight: view.accountIds.reduce((sum, account) => sum + services.capacity.selection.candidates.inFlight(account, view.poolIds), 0),
      admission: Object.entries(services.capacity.admission.status(view.poolIds)).map(([name, { running, waiting }]) => ({
        class: name,
        running,
        max_running: admission[name as keyof typeof admission].running,
        waiting,
        max_waiting: admission[name as keyof typeof admission].waiting,
      })),
      recent_requests: await recentRequests(view, at),
    };
  },
});

const routableModels = ({ pools, services }: OperatorView, index: number): number => {
  const pool = pools[index];
  return pool ? services.models.models(pool).listed().models.length : 0;
};

async function recentRequests(view: OperatorView, now: number): Promise<ValueOf<typeof RECENT>> {
  const { store } = view.services;
  await store.flush();
  const rows = await store.requests.outcomes({ pools: view.poolsFor(undefined), since: now - RECENT_MS, limit: MOST_RECENT });
  const durations = rows.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b);
  const at = (share: number): number => durations[Math.max(0, Math.ceil(durations.length * share) - 1)] ?? 0;
  return {
    count: rows.length,
    since: isoOrNull(rows.at(-1)?.at),
    by_status_class: countBy(rows, ({ status_class }) => status_class),
    by_code: countBy(rows, ({ code }) => code),
    retried: rows.filter(({ retries }) => retries > 0).length,
    duration_ms: rows.length === 0 ? null : { p50: at(0.5), p95: at(0.95), max: at(1) },
  };
}

function countBy(rows: readonly RequestOutcome[], of: (row: RequestOutcome) => string | null): Readonly<Record<string, number>> {
  const names = new Map<string, number>();
  for (const row of rows) {
    const name = of(row);
    if (name !== null) names.set(name, (names.get(name) ?? 0) + 1);
  }
  return Object.fromEntries(names);
}
