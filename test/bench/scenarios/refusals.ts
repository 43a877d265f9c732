// What saying no costs, next to Node's own server saying as much: clients repeat a refused request up to thirty times.
import { awake } from '../awake.ts';
import { costPerRequest } from '../cost.ts';
import { loadJson } from '../json-load.ts';
import { GATEWAY, NATIVE_PATH, startRefuser } from '../relays/crew.ts';
import { CLOSED_KEY, firstStatus, LIMITED_KEY, startGateway } from '../relays/gateway.ts';
import { type Measurement, NotYet, type Scenario } from '../sheet.ts';
import { requestOf } from '../wire.ts';

export const NODE = 'node';
/** A 429 and a 503 come after every check of the body: the contract's order (Q4). */
const NODE_PARSED = 'node, body parsed';

const CONNECTIONS = 64;
/** As for JSON turns: the gateway's code is compiled for good by then. */
const WARM_SECONDS = 8;
/** Of a body of ours that says no. */
const BODY_BYTES = 140;

const KEYS: Readonly<Record<401 | 429 | 503, string>> = { 401: 'pg-nobody-has-this-key', 429: LIMITED_KEY, 503: CLOSED_KEY };

export function refusals(status: 401 | 429 | 503): Scenario {
  return async ({ stage, effort, sheet }: Measurement) => {
    const post = { path: NATIVE_PATH, key: KEYS[status] };
    const gateway = await startGateway(stage);
    // The first may pass: it is the one that spends the limit.
    await firstStatus(gateway.port, post);
    if ((await firstStatus(gateway.port, post)) !== status) throw new NotYet(`a refusal with ${status}`);
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
    for (const { relay } of contenders) await load(relay.port, WARM_SECONDS);
    await costPerRequest(
      stage,
      { label: `refuse-${status}`, rounds: effort.rounds, workers: contenders },
      ({ relay }) => load(relay.port, 1),
      ({ name }, microseconds) => sheet.add(`cpu per ${status}`, name, microseconds),
    );
    for (const { relay } of contenders) await relay.child.stop();
  };
}
