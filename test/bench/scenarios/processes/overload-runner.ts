// A separate process that offers requests at a fixed rate, without waiting for earlier ones, and measures the times of their answers.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import type { Wire } from '../../wire.ts';
import type { Offered } from '../overload.ts';

const TICK_MS = 2;
/** The first seconds do not count: connections open, and this process compiles its code. */
const WARM_MS = 3_000;

const [port = '', file = '', perSecond = '1', seconds = '1'] = process.argv.slice(2);
const { path, headers, body } = JSON.parse(readFileSync(file, 'utf8')) as Wire;
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: null, pipelining: 1 });
const times = { accepted: [] as number[], refused: [] as number[] };
const late: number[] = [];
let failed = 0;
let counting = false;

async function ask(): Promise<void> {
  const counts = counting;
  const began = performance.now();
  try {
    const { statusCode, body: answer } = await pool.request({ method: 'POST', path, headers, body });
    await answer.dump({ limit: Number.MAX_SAFE_INTEGER });
    const took = performance.now() - began;
    if (statusCode !== 200 && statusCode !== 503) failed += 1;
    else if (counts) times[statusCode === 200 ? 'accepted' : 'refused'].push(took);
  } catch {
    failed += 1;
  }
}

const percentile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? 0;

const asked: Promise<void>[] = [];
const began = performance.now();
for (let elapsed = 0; elapsed < WARM_MS + Number(seconds) * 1_000; elapsed = performance.now() - began) {
  const due = (elapsed / 1_000) * Number(perSecond);
  counting = elapsed >= WARM_MS;
  while (asked.length < due) {
    if (counting) late.push(elapsed - (asked.length / Number(perSecond)) * 1_000);
    asked.push(ask());
  }
  await sleep(TICK_MS);
}
await Promise.all(asked);
await pool.close();
const told: Offered = {
  accepted: times.accepted.length,
  refused: times.refused.length,
  failed,
  lateP99: percentile(late, 0.99),
  acceptedP50: percentile(times.accepted, 0.5),
  acceptedP99: percentile(times.accepted, 0.99),
  refusedP50: percentile(times.refused, 0.5),
  refusedP99: percentile(times.refused, 0.99),
};
console.log(JSON.stringify(told));
