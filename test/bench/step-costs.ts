// `npm run bench -- rules`: the processor time of each step of a JSON turn. The gateway reads the clock when a step begins; no profiler
// runs.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from './figures/statistics.ts';
import { NATIVE_PATH } from './relays/crew.ts';
import { startGateway, USUAL } from './relays/gateway.ts';
import { cpuOf, order } from './relays/relay.ts';
import { jsonLoad, warmJson } from './scenarios/json.ts';
import { openStage } from './stage.ts';

const MARKS = fileURLToPath(new URL('relays/step-marks.ts', import.meta.url));
const ROUNDS = 12;
const NAME = 'steps';

/** Milliseconds by step. */
export type StepTimes = Readonly<Record<string, number>>;

/** The table of a small native turn at 64 connections, in the order of the turn. */
export async function stepCosts(): Promise<string> {
  const stage = await openStage(undefined);
  const relay = await startGateway(stage, { ...USUAL, guard: { event_loop_ms: 0 } }, { NODE_OPTIONS: `--import=${MARKS}` });
  const gateway = { name: NAME, relay, path: NATIVE_PATH };
  await warmJson(stage, gateway);
  const file = join(stage.directory, 'steps.json');
  const rounds: { readonly share: ReadonlyMap<string, number>; readonly microseconds: number }[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    await order(relay, { order: 'steps' });
    const before = cpuOf(relay);
    const requests = await jsonLoad(stage, gateway, 2);
    const microseconds = (cpuOf(relay) - before) / requests;
    await order(relay, { order: 'steps', file });
    const times = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as StepTimes);
    const sum = times.reduce((total, [, ms]) => total + ms, 0);
    rounds.push({ share: new Map(times.map(([step, ms]) => [step, ms / sum])), microseconds });
  }
  await relay.child.stop();
  const all = median(rounds.map(({ microseconds }) => microseconds));
  const steps = [...new Set(rounds.flatMap(({ share }) => [...share.keys()]))];
  const line = (name: string, share: number): string => `| ${name} | ${(share * all).toFixed(1)} | ${(share * 100).toFixed(1)} % |`;
  const lines = steps.map((step) => line(step, median(rounds.map(({ share }) => share.get(step) ?? 0))));
  return ['| step of a JSON turn of 0.8 KB | µs | part |', '| --- | --- | --- |', ...lines, line('all', 1)].join('\n');
}
