// Many connections of one process for minutes: what each holds, whether that grows, and how late events arrive.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Measurement } from '../figures/sheet.ts';
import { GATEWAY, NATIVE_PATH, REFERENCE, startReference } from '../relays/crew.ts';
import { STREAM_KEY, startGateway, USUAL } from '../relays/gateway.ts';
import { residentOf } from '../relays/relay.ts';
import { startLoad } from '../streams.ts';
import { startClients, withWebsockets } from '../websocket/clients.ts';
import { type Plan, requestOf } from '../wire.ts';

/** With two descriptors each, most processes may have as many; at this pace a core carries them with either relay, also on a slow day. */
export const STREAMS = 4_000;
const PACED: Plan = { deltas: 1_000_000, perSecond: 1 };
export const SOCKETS = 9_000;

/** What grows once, such as the compiled code and the buffers of a pool, has grown by then. */
const FIRST_SECONDS = 60;
/**
 * The time for a measurement of memory. It collects all garbage, which stops the relay, so it is made before and after the seconds whose
 * events are measured.
 */
const LOOK_SECONDS = 5;
const WARM = { connections: 20, plan: { deltas: 200, perSecond: 0 } };

export async function scaledStreams({ stage, effort, sheet }: Measurement): Promise<void> {
  const seconds = secondsOf(effort.minutes);
  for (const [name, start] of [
    [GATEWAY, () => startGateway(stage)],
    [REFERENCE, () => startReference(stage)],
  ] as const) {
    const relay = await start();
    const load = (connections: number, stream: Plan, warmSeconds: number, measured: number) =>
      startLoad(stage, {
        port: relay.port,
        requests: [requestOf({ path: NATIVE_PATH, key: STREAM_KEY, stream })],
        connections,
        warmSeconds,
        seconds: measured,
        keepsOpen: connections === STREAMS,
      });
    await (await load(WARM.connections, WARM.plan, 1, 1)).report();
    const before = await residentOf(relay);
    const [loading, first] = await Promise.all([
      load(STREAMS, PACED, FIRST_SECONDS, seconds),
      sleep((FIRST_SECONDS - LOOK_SECONDS) * 1_000).then(() => residentOf(relay)),
    ]);
    const report = await loading.report();
    const last = await residentOf(relay);
    await loading.stop();
    if (report.errors > 0 || report.events < 0.9 * STREAMS * PACED.perSecond * seconds)
      throw new Error(`${name}: streams broke: ${JSON.stringify(report)}`);
    sheet.add('memory per scaled stream', name, kilobytes(last - before, STREAMS));
    sheet.add('growth per scaled stream', name, kilobytes(last - first, STREAMS));
    sheet.add('p99 of scaled streams', name, report.event_p99 / 1_000);
    await relay.child.stop();
  }
}

/** Each has had a turn, so that both of its sides are open. */
export async function scaledWebsockets({ stage: bare, effort, sheet }: Measurement): Promise<void> {
  const { stage, stop } = await withWebsockets(bare);
  // In the end all of them have a turn at the same time.
  const relay = await startGateway(stage, { ...USUAL, admission: { websocket: { running: SOCKETS } } });
  const connected = (connections: number) => startClients(stage, { port: relay.port, path: NATIVE_PATH, key: STREAM_KEY, connections });
  const warming = await connected(WARM.connections);
  await warming.turns(1);
  await warming.stop();
  const before = await residentOf(relay);
  const clients = await connected(SOCKETS);
  await sleep(FIRST_SECONDS * 1_000);
  const first = await residentOf(relay);
  await sleep(secondsOf(effort.minutes) * 1_000);
  const last = await residentOf(relay);
  const { completed, failed } = await clients.turns(1);
  if (failed > 0 || completed < SOCKETS) throw new Error(`${failed} of ${SOCKETS} websockets were lost`);
  sheet.add('memory per scaled websocket', GATEWAY, kilobytes(last - before, SOCKETS));
  sheet.add('growth per scaled websocket', GATEWAY, kilobytes(last - first, SOCKETS));
  await clients.stop();
  await relay.child.stop();
  await stop();
}

/** After the first minute. */
const secondsOf = (minutes: number): number => (minutes - 1) * 60;

const kilobytes = (bytes: number, connections: number): number => Math.max(0, bytes) / connections / 1_024;
