// The cost of a refusal, compared with the same refusal by the server of Node; clients repeat a refused request up to thirty times.
import { awake } from '../awake.ts';
import { costPerRequest } from '../cost.ts';
import type { Measurement, Scenario } from '../figures/sheet.ts';
import { type Answered, loadJson } from '../json-load.ts';
import { GATEWAY, NATIVE_PATH, startRefuser } from '../relays/crew.ts';
import { CLOSED_KEY, firstStatus, KEY, LIMITED_KEY, startGateway, USUAL } from '../relays/gateway.ts';
import { startLoad } from '../streams.ts';
import { warmUp } from '../warm.ts';
import { type Plan, requestOf } from '../wire.ts';

export const NODE = 'node';
/** A 429 and a 503 come after all checks of the body, in the order of the contract (Q4). */
const NODE_PARSED = 'node, body parsed';

const CONNECTIONS = 64;
/** The length of the body of a refusal. */
const BODY_BYTES = 140;

const KEYS: Readonly<Record<401 | 429 | 503, string>> = { 401: 'pg-nobody-has-this-key', 429: LIMITED_KEY, 503: CLOSED_KEY };

/** With this limit every gateway exceeds 1 % of its heap, however large the machine; a pause of the load does not change that. */
const CLOSED_GUARD = { event_loop_ms: 0, memory_percent: 1 };
const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=1024' };
/** The gateway ends a stream after 280 s without a delta. */
const IDLE: Plan = { deltas: 100, perSecond: 0.01 };

/** The guard decides before the body is read. One turn has to run, because otherwise the guard refuses nothing. */
export async function guardRefusals({ stage, effort, sheet }: Measurement): Promise<void> {
  const gateway = await startGateway(stage, { ...USUAL, guard: CLOSED_GUARD }, SMALL_HEAP);
  const running = { port: gateway.port, requests: [requestOf({ path: NATIVE_PATH, key: KEY, stream: IDLE })], connections: 1 };
  const turn = await startLoad(stage, { ...running, warmSeconds: 0, seconds: 3_600 });
  const contenders = [
    { name: GATEWAY, relay: gateway },
    { name: NODE, relay: await startRefuser(stage, 503, BODY_BYTES, 'unread') },
  ];
  const request = requestOf({ path: NATIVE_PATH, key: KEY });
  const load = ({ relay: { port } }: (typeof contenders)[number], seconds: number): Promise<Answered> =>
    awake(stage, () => loadJson(stage, { port, request, connections: CONNECTIONS, seconds }));
  for (const contender of contenders) await warmUp(async (seconds) => (await load(contender, seconds)).requests);
  await costPerRequest(
    stage,
    { label: 'refuse-guard', rounds: effort.rounds, workers: contenders },
    async (contender) => {
      const { requests, refused } = await load(contender, 1);
      if (refused < requests || requests === 0) throw new Error(`only ${refused} of ${requests} requests were refused`);
      return requests;
    },
    ({ name }, microseconds) => sheet.add('cpu per refusal of the guard', name, microseconds),
  );
  await turn.stop();
  for (const { relay } of contenders) await relay.child.stop();
}

export function refusals(status: 401 | 429 | 503): Scenario {
  return async ({ stage, effort, sheet }: Measurement) => {
    const post = { path: NATIVE_PATH, key: KEYS[status] };
    const gateway = await startGateway(stage);
    // The first may pass, because it uses up the limit.
    await firstStatus(gateway.port, post);
    if ((await firstStatus(gateway.port, post)) !== status) throw new Error(`the gateway does not refuse with ${status}`);
    const contenders = [
      { name: GATEWAY, relay: gateway },
      { name: NODE, relay: await startRefuser(stage, status, BODY_BYTES, 'unread') },
      ...(status === 401 ? [] : [{ name: NODE_PARSED, relay: await startRefuser(stage, status, BODY_BYTES, 'parsed') }]),
    ];
    const load = async (port: number, seconds: number): Promise<number> => {
      const asked = { port, request: requestOf(post), connections: CONNECTIONS, seconds };
      const { requests, refused } = await awake(stage, () => loadJson(stage, asked));
      if (refused < requests || requests === 0) throw new Error(`only ${refused} of ${requests} requests were refused`);
      return requests;
    };
    for (const { relay } of contenders) await warmUp((seconds) => load(relay.port, seconds));
    await costPerRequest(
      stage,
      { label: `refuse-${status}`, rounds: effort.rounds, workers: contenders },
      ({ relay }) => load(relay.port, 1),
      ({ name }, microseconds) => sheet.add(`cpu per ${status}`, name, microseconds),
    );
    for (const { relay } of contenders) await relay.child.stop();
  };
}
