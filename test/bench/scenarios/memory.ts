// Memory of streams: the bytes of each idle stream, and the bytes held for a reader that has stopped reading.
import { setTimeout as sleep } from 'node:timers/promises';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { GATEWAY, NATIVE_PATH, REFERENCE, relaysOf } from '../relays/crew.ts';
import { STREAM_KEY } from '../relays/gateway.ts';
import { type Relay, residentOf } from '../relays/relay.ts';
import type { Stage } from '../stage.ts';
import { startLoad, startStalled } from '../streams.ts';
import { DELTA_BYTES, type Plan, requestOf } from '../wire.ts';

const IDLE_STREAMS = 3_000;
/** A stream with one delta, and the next one three hours later. */
const IDLE: Plan = { deltas: 2, perSecond: 0.0001 };
const LONG_BYTES = 100_000_000;
const LONG: Plan = { deltas: Math.ceil(LONG_BYTES / DELTA_BYTES), perSecond: 0 };
const WARM: Plan = { deltas: 200, perSecond: 0 };
const WARM_CONNECTIONS = 20;
const LOOKS = 5;
const LOOK_MS = 500;

/** Each measurement has its own process, because memory of an earlier load would hide that of streams. */
export async function idleStreams({ stage, effort, sheet }: Measurement): Promise<void> {
  await alternate(effort.runs, [...(await relaysOf(stage))], async ([name, startRelay]) => {
    const relay = await startRelay();
    await warmUp(stage, relay);
    const before = await residentOf(relay);
    const requests = [requestOf({ path: NATIVE_PATH, key: STREAM_KEY, stream: IDLE })];
    const load = { port: relay.port, requests, connections: IDLE_STREAMS, warmSeconds: 1, seconds: 3_600 };
    const loading = await startLoad(stage, load);
    const after = await residentOf(relay);
    await loading.stop();
    await relay.child.stop();
    sheet.add('memory per idle stream', name, (after - before) / IDLE_STREAMS / 1_024);
  });
}

export async function stalledReader({ stage, effort, sheet }: Measurement): Promise<void> {
  const both = [...(await relaysOf(stage))].filter(([name]) => name === GATEWAY || name === REFERENCE);
  await alternate(effort.runs, both, async ([name, startRelay]) => {
    const relay = await startRelay();
    await warmUp(stage, relay);
    const before = await residentOf(relay);
    const stalled = await startStalled(stage, relay.port, requestOf({ path: NATIVE_PATH, key: STREAM_KEY, stream: LONG }));
    let most = 0;
    for (let look = 0; look < LOOKS; look++) {
      await sleep(LOOK_MS);
      most = Math.max(most, await residentOf(relay));
    }
    stalled.resume();
    const { bytes, errors } = await stalled.report();
    if (errors > 0 || bytes < LONG.deltas * 200) throw new Error(`${name}: the stalled stream came back with ${bytes} bytes`);
    await relay.child.stop();
    sheet.add('held for a stalled reader', name, Math.max(0, most - before) / 1_048_576);
  });
}

/** Compiles the code and grows the buffers, as in a process that has served for a while. */
async function warmUp(stage: Stage, relay: Relay): Promise<void> {
  const requests = [requestOf({ path: NATIVE_PATH, key: STREAM_KEY, stream: WARM })];
  const loading = await startLoad(stage, { port: relay.port, requests, connections: WARM_CONNECTIONS, warmSeconds: 1, seconds: 1 });
  await loading.report();
}
