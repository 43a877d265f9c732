// A JSON turn: processor time at 64 connections, and the delay of an answer compared with no relay.
import { awake } from '../awake.ts';
import { costPerRequest } from '../cost.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { loadJson } from '../json-load.ts';
import { type Contender, crewOf, GATEWAY, GATEWAY_V1, NATIVE_PATH, REFERENCE, startReference, UNDICI, V1_PATH } from '../relays/crew.ts';
import { KEY, startGateway } from '../relays/gateway.ts';
import type { Stage } from '../stage.ts';
import { startLoad } from '../streams.ts';
import { warmUp } from '../warm.ts';
import { requestOf, SHORT } from '../wire.ts';

const CONNECTIONS = 64;

/** The reference for a turn on /v1: it carries the stream from which the turn is collected. */
export const REFERENCE_STREAM = `${REFERENCE}, the stream`;

/** @returns the number of answered requests */
export async function jsonLoad(stage: Stage, { relay, path, name }: Contender, seconds: number): Promise<number> {
  const request = requestOf({ path, key: KEY, ...(name === REFERENCE_STREAM ? { stream: SHORT } : {}) });
  const { requests, refused } = await awake(stage, () => loadJson(stage, { port: relay.port, request, connections: CONNECTIONS, seconds }));
  if (refused > 0 || requests === 0) throw new Error(`${name}: ${refused} of ${requests} requests were refused`);
  return requests;
}

export const warmJson = (stage: Stage, contender: Contender): Promise<void> => warmUp((seconds) => jsonLoad(stage, contender, seconds));

export async function jsonTurns({ stage, effort, sheet }: Measurement): Promise<void> {
  const inTurn = async (workers: readonly Contender[], rounds: number): Promise<void> => {
    for (const contender of workers) await warmJson(stage, contender);
    const add = ({ name }: Contender, microseconds: number): void => sheet.add('cpu per turn', name, microseconds);
    await costPerRequest(stage, { label: 'json', rounds, workers }, (contender) => jsonLoad(stage, contender, 1), add);
  };
  // The compared relays work in turns, two or three at a time, because a process that waits for long has cold caches and a small heap again.
  // Each contender has its own relay, so deferred work of one does not count for another.
  const crew = await crewOf(stage);
  const native = [GATEWAY, REFERENCE, UNDICI];
  await inTurn(
    crew.filter(({ name }) => native.includes(name)),
    effort.rounds,
  );
  const collected: readonly Contender[] = [
    { name: GATEWAY_V1, relay: await startGateway(stage), path: V1_PATH },
    { name: REFERENCE_STREAM, relay: await startReference(stage), path: NATIVE_PATH },
  ];
  await inTurn(collected, effort.rounds);
  for (const { relay } of collected) await relay.child.stop();
  for (const contender of crew) if (![...native, GATEWAY_V1].includes(contender.name)) await inTurn([contender], effort.runs);
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
