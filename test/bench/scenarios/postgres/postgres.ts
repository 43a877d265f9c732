// The cost of a turn on PostgreSQL: round trips, processor time of the node compared with one on SQLite, and processor time of the
// database.
import { fileURLToPath } from 'node:url';
import { postgres } from '../../../support/postgres/postgres.ts';
import { awake } from '../../awake.ts';
import { outputOf } from '../../children.ts';
import { costPerRequest } from '../../cost.ts';
import { alternate, type Measurement } from '../../figures/sheet.ts';
import { loadJson } from '../../json-load.ts';
import { GATEWAY, NATIVE_PATH } from '../../relays/crew.ts';
import { KEY, startGateway, UPLOAD_KEY, USUAL } from '../../relays/gateway.ts';
import { warmUp } from '../../warm.ts';
import { requestOf } from '../../wire.ts';

const runner = (name: string): readonly string[] => [
  process.execPath,
  '--import',
  'tsx/esm',
  fileURLToPath(new URL(`${name}.ts`, import.meta.url)),
];

export const LIMITED = 'key with limits';
export const FREE = 'key without limits';
export const ON_POSTGRES = 'poolgate on PostgreSQL';
export const ON_SQLITE = 'poolgate on SQLite';

const CONNECTIONS = 64;
const STORE_KEY = 'store-key-of-the-bench';

/** The output of the runner, per turn, for each run. */
export interface Trips {
  readonly limited: readonly number[];
  readonly free: readonly number[];
}

/** Counts the round trips of turns on the wire. Transactions write batches of rows, which belong to no single turn, and are left out. */
export async function postgresTrips({ effort, sheet }: Measurement): Promise<void> {
  const { limited, free } = JSON.parse(await outputOf([...runner('postgres-trips-runner'), String(effort.runs)])) as Trips;
  for (const trips of limited) sheet.add('round trips', LIMITED, trips);
  for (const trips of free) sheet.add('round trips', FREE, trips);
}

/** Each key has its own gateways, so deferred work of one does not count for another. */
export async function postgresCost({ stage, effort, sheet }: Measurement): Promise<void> {
  const server = await postgres();
  for (const [figure, key] of [
    ['cpu of a limited turn', KEY],
    ['cpu of a free turn', UPLOAD_KEY],
  ] as const) {
    const request = requestOf({ path: NATIVE_PATH, key });
    const database = { BENCH_DATABASE: await server.fresh(), BENCH_STORE_KEY: STORE_KEY };
    const size = { ...USUAL, store: { postgres: { env: 'BENCH_DATABASE' } }, store_key: { env: 'BENCH_STORE_KEY' } };
    const workers = [
      { name: ON_POSTGRES, relay: await startGateway(stage, size, database) },
      { name: ON_SQLITE, relay: await startGateway(stage) },
    ];
    const load = async ({ name, relay: { port } }: (typeof workers)[number], seconds: number): Promise<number> => {
      const { requests, refused } = await awake(stage, () => loadJson(stage, { port, request, connections: CONNECTIONS, seconds }));
      if (refused > 0 || requests === 0) throw new Error(`${name}: ${refused} of ${requests} requests were refused`);
      return requests;
    };
    for (const worker of workers) await warmUp((seconds) => load(worker, seconds));
    await costPerRequest(
      stage,
      { label: `postgres-${key}`, rounds: effort.rounds, workers },
      (worker) => load(worker, 1),
      ({ name }, microseconds) => sheet.add(figure, name, microseconds),
    );
    for (const { relay } of workers) await relay.child.stop();
  }
}

/** The load consists of the verbs of the store that a node calls for turns of 64 keys, without a gateway. */
export async function postgresCapacity({ effort, sheet }: Measurement): Promise<void> {
  await alternate(effort.runs, [GATEWAY], async (subject) => {
    sheet.add('turns a core', subject, Number(await outputOf([...runner('postgres-core-runner'), String(effort.seconds)])));
  });
}
