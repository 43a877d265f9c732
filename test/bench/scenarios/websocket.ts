// Websockets, compared with a raw relay of frames: the memory of idle ones on both sides, and the processor time of a turn.
import { awake } from '../awake.ts';
import { costPerRequest } from '../cost.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { GATEWAY, NATIVE_PATH, startWebsocketRelay } from '../relays/crew.ts';
import { STREAM_KEY, startGateway } from '../relays/gateway.ts';
import { type Relay, residentOf } from '../relays/relay.ts';
import type { Stage } from '../stage.ts';
import { type Clients, startClients, withWebsockets } from '../websocket/clients.ts';

export const RAW_RELAY = 'raw ws';

const IDLE_SOCKETS = 5_000;
const CONNECTIONS = 64;
/** By then V8 has compiled the code of the gateway fully, as for JSON turns. */
const WARM_SECONDS = 15;

const RELAYS: readonly (readonly [name: string, start: (stage: Stage) => Promise<Relay>])[] = [
  [GATEWAY, (stage) => startGateway(stage)],
  [RAW_RELAY, startWebsocketRelay],
];

const clientsOf = (stage: Stage, { port }: Relay, connections: number): Promise<Clients> =>
  startClients(stage, { port, path: NATIVE_PATH, key: STREAM_KEY, connections });

/** Each connection has had a turn, so both of its sides are open. Each measurement has its own process, as for streams. */
export async function idleWebsockets({ stage: bare, effort, sheet }: Measurement): Promise<void> {
  const { stage, stop } = await withWebsockets(bare);
  await alternate(effort.runs, RELAYS, async ([name, start]) => {
    const relay = await start(stage);
    const warming = await clientsOf(stage, relay, CONNECTIONS);
    await warming.turns(1);
    await warming.stop();
    const before = await residentOf(relay);
    const clients = await clientsOf(stage, relay, IDLE_SOCKETS);
    const after = await residentOf(relay);
    await clients.stop();
    await relay.child.stop();
    sheet.add('memory per idle websocket', name, (after - before) / IDLE_SOCKETS / 1_024);
  });
  await stop();
}

/** A turn is one frame in each direction, over connections that stay open. */
export async function websocketTurns({ stage: bare, effort, sheet }: Measurement): Promise<void> {
  const { stage, stop } = await withWebsockets(bare);
  const workers: { readonly name: string; readonly relay: Relay; readonly clients: Clients }[] = [];
  for (const [name, start] of RELAYS) {
    const relay = await start(stage);
    workers.push({ name, relay, clients: await clientsOf(stage, relay, CONNECTIONS) });
  }
  const load = async ({ name, clients }: (typeof workers)[number], seconds: number): Promise<number> => {
    const { completed, failed } = await awake(stage, () => clients.turns(seconds));
    if (failed > 0 || completed === 0) throw new Error(`${name}: ${failed} connections lost their turn, ${completed} were completed`);
    return completed;
  };
  for (const worker of workers) await load(worker, WARM_SECONDS);
  await costPerRequest(
    stage,
    { label: 'websocket', rounds: effort.rounds, workers },
    (worker) => load(worker, 1),
    ({ name }, microseconds) => sheet.add('cpu per websocket turn', name, microseconds),
  );
  for (const { relay, clients } of workers) {
    await clients.stop();
    await relay.child.stop();
  }
  await stop();
}
