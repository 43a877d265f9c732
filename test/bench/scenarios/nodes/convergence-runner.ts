// A separate process with two nodes on one PostgreSQL: one node gets rate limits again and again, and the other one is notified.
import { setTimeout as sleep, setImmediate as tick } from 'node:timers/promises';
import { failure } from '../../../accounts/health/support.ts';
import type { TestGateway } from '../../../support/gateway.ts';
import { startNodes } from '../../../support/nodes/convergence.ts';
import type { Convergence } from './convergence.ts';

const [count = '50'] = process.argv.slice(2);
const GIVEN_UP_MS = 30_000;

await using nodes = await startNodes(2);
const [one, other] = nodes.all as [TestGateway, TestGateway];
const isCooling = (node: TestGateway): boolean => node.account('north').models['model-a'] !== undefined;

/** Resolves with the milliseconds until `happened` is true. */
async function until(happened: () => boolean): Promise<number> {
  const began = performance.now();
  while (!happened()) {
    if (performance.now() - began > GIVEN_UP_MS) throw new Error('the other node heard nothing');
    await tick();
  }
  return performance.now() - began;
}

const times: number[] = [];
while (times.length < Number(count)) {
  one.fail('north', 'model-a', failure('rate', { retryAfterMs: 3_600_000 }));
  times.push(await until(() => isCooling(other)));
  one.heal();
  await until(() => !isCooling(other));
  // A random pause avoids a fixed rhythm with the writer.
  await sleep(Math.random() * 100);
}
times.sort((a, b) => a - b);
const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] as number;
console.log(JSON.stringify({ p50: at(0.5), p99: at(0.99) } satisfies Convergence));
process.exit(0);
