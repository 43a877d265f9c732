// The cost of a websocket that a node forwards to the owner of its session, compared with a raw relay of frames.
import { StoreKey } from '../../../../proxy/encryption/store-key.ts';
import { hopPath } from '../../../../proxy/nodes/hop-listener.ts';
import { openStore } from '../../../../store/store.ts';
import { postgres } from '../../../support/postgres/postgres.ts';
import { awake } from '../../awake.ts';
import { costPerRequest } from '../../cost.ts';
import type { Measurement } from '../../figures/sheet.ts';
import { GATEWAY, NATIVE_PATH, startWebsocketRelay } from '../../relays/crew.ts';
import { KEY, startGateway, USUAL } from '../../relays/gateway.ts';
import type { Relay } from '../../relays/relay.ts';
import type { Stage } from '../../stage.ts';
import { type Clients, startClients, startOwner, withWebsockets } from '../../websocket/clients.ts';
import { RAW_RELAY } from '../websocket.ts';

const CONNECTIONS = 64;
/** A turn has one frame to the owner and this many back. A turn of a native client has hundreds. */
const FRAMES_BACK = 20;
const WARM_SECONDS = 10;

/** As long as that of a node. Connections need it only when they open. A node takes over a session whose lease is much longer. */
const LEASE_MS = 45_000;

const OWNER = 'other/process';
const SECRET = 'secret-between-nodes-of-the-bench';
const STORE_KEY = 'store-key-of-the-bench';

export async function forwardedFrames({ stage: bare, effort, sheet }: Measurement): Promise<void> {
  const { stage, stop } = await withWebsockets(bare, FRAMES_BACK);
  const owner = await startOwner(stage, hopPath(OWNER), SECRET, FRAMES_BACK);
  const workers: { readonly name: string; readonly relay: Relay; readonly clients: Clients }[] = [];
  for (const [name, relay] of [
    [GATEWAY, await startForwarder(stage, owner.url)],
    [RAW_RELAY, await startWebsocketRelay(stage)],
  ] as const) {
    workers.push({
      name,
      relay,
      clients: await startClients(stage, { port: relay.port, path: NATIVE_PATH, key: KEY, connections: CONNECTIONS }),
    });
  }
  const load = async ({ name, clients }: (typeof workers)[number], seconds: number): Promise<number> => {
    const { completed, failed } = await awake(stage, () => clients.turns(seconds));
    if (failed > 0 || completed === 0) throw new Error(`${name}: ${failed} connections lost their turn, ${completed} were completed`);
    if (name === GATEWAY && (await owner.turns()) < completed) throw new Error('the turns were not forwarded');
    return completed * (1 + FRAMES_BACK);
  };
  for (const worker of workers) await load(worker, WARM_SECONDS);
  await costPerRequest(
    stage,
    { label: 'forwarding', rounds: effort.rounds, workers },
    (worker) => load(worker, 1),
    ({ name }, microseconds) => sheet.add('cpu per forwarded frame', name, microseconds),
  );
  for (const { relay, clients } of workers) {
    await clients.stop();
    await relay.child.stop();
  }
  await owner.stop();
  await stop();
}

/** A gateway on a database where another node owns the sessions of all clients. */
async function startForwarder(stage: Stage, address: string): Promise<Relay> {
  const server = await postgres();
  const url = await server.fresh();
  const node = { id: 'forwarder', listen: { port: 0 }, secret: { env: 'BENCH_NODE_SECRET' } };
  const size = { ...USUAL, store: { postgres: { env: 'BENCH_DATABASE' } }, store_key: { env: 'BENCH_STORE_KEY' }, node };
  const relay = await startGateway(stage, size, { BENCH_NODE_SECRET: SECRET, BENCH_DATABASE: url, BENCH_STORE_KEY: STORE_KEY });
  const store = await openStore(url, { clock: Date.now });
  const digest = new StoreKey(STORE_KEY).digest('sessions');
  for (let i = 0; i < CONNECTIONS; i++) {
    const session = digest.of(`key-0\nsession-${i}`);
    await store.sessionOwners.claim({ session, owner: OWNER, address, lease: `lease-${i}`, ttlMs: LEASE_MS });
  }
  await store.close();
  return relay;
}
