// A JSON turn: processor time at 64 connections, and how much later an answer comes than without a relay.
import { setTimeout as sleep } from 'node:timers/promises';
import { awake } from '../awake.ts';
import { cost } from '../cost.ts';
import { loadJson } from '../json-load.ts';
import { type Contender, crewOf, GATEWAY, GATEWAY_V1, NATIVE_PATH, REFERENCE } from '../relays/crew.ts';
import { KEY } from '../relays/gateway.ts';
import { alternate, type Measurement } from '../sheet.ts';
import { startLoad } from '../streams.ts';
import { requestOf, SHORT } from '../wire.ts';

const CONNECTIONS = 64;
/** A gateway runs for weeks: its code is compiled for good after some 60,000 turns. */
const WARM_SECONDS = 15;

/** The gateway writes pins five seconds late: what they cost belongs to the turns that made them. */
const DEFERRED_MS = 6_000;

/** The reference, carrying the stream that a turn on /v1 is collected from. */
export const REFERENCE_STREAM = `${REFERENCE}, the stream`;

export async function jsonTurns({ stage, effort, sheet }: Measurement): Promise<void> {
  const known = await crewOf(stage);
  const crew = known.flatMap((one) => (one.name === REFERENCE ? [one, { ...one, name: REFERENCE_STREAM }] : [one]));
  const load = async ({ relay, path, name }: Contender, seconds: number): Promise<number> => {
    const request = requestOf({ path, key: KEY, ...(name === REFERENCE_STREAM ? { stream: SHORT } : {}) });
    const { requests, refused } = await awake(stage, () =>
      loadJson(stage, { port: relay.port, request, connections: CONNECTIONS, seconds }),
    );
    if (refused > 0 || requests === 0) throw new Error(`${name}: ${refused} of ${requests} requests were refused`);
    return requests;
  };
  for (const contender of crew) await load(contender, WARM_SECONDS);
  await alternate(effort.runs, crew, async (contender) => {
    let requests = 0;
    const used = await cost(stage, contender.relay, `json-${contender.name}`, async () => {
      requests = await load(contender, effort.seconds);
      if (contender.name === GATEWAY || contender.name === GATEWAY_V1) await sleep(DEFERRED_MS);
    });
    sheet.add('cpu per turn', contender.name, used / requests);
  });
}

export async function addedLatency({ stage, effort, sheet }: Measurement): Promise<void> {
  const crew = await crewOf(stage);
  const ask = async (port: number, path: string): Promise<number> => {
    const load = { port, requests: [requestOf({ path, key: KEY })], connections: 1, warmSeconds: 0.5, seconds: effort.seconds / 2 };
    const { errors, reply_p50 } = await (await startLoad(stage, load)).report();
    if (errors > 0) throw new Error(`${path}: ${errors} requests failed`);
    return reply_p50;
  };
  const direct = 'direct';
  const p50s = new Map<string, number[]>();
  await alternate(effort.runs, [...crew, { name: direct, relay: stage.upstream, path: NATIVE_PATH }], async ({ name, relay, path }) => {
    p50s.set(name, [...(p50s.get(name) ?? []), await ask(relay.port, path)]);
  });
  for (const { name } of crew) {
    for (const [run, p50] of (p50s.get(name) ?? []).entries()) sheet.add('added latency', name, p50 - (p50s.get(direct)?.[run] ?? 0));
  }
}
