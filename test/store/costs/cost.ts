// Prints the cost of the request log: `node --import tsx test/store/costs/cost.ts [rows per second] [rounds]`. It is a measurement, not a test.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore, type RequestRow } from '../../../store/store.ts';
import { requestRow } from '../samples.ts';

const perSecond = Number(process.argv[2] ?? 5_000);
const rounds = Number(process.argv[3] ?? 9);
const ROUND_MS = 1_000;
const TICK_MS = 10;

let made = 0;
/** A row whose id sorts by time, like those of the gateway. */
const nextRow = (): RequestRow => {
  const at = Date.now();
  return requestRow({ id: `req_${at.toString(36)}${(made++).toString(36).padStart(6, '0')}`, at });
};

interface Cost {
  readonly main: number;
  readonly all: number;
}

/** CPU microseconds per row of the main thread and of the whole process, including the making of the row. */
async function round(append: (row: RequestRow) => void): Promise<Cost> {
  const before = { main: process.threadCpuUsage(), all: process.cpuUsage(), made };
  const start = performance.now();
  while (performance.now() - start < ROUND_MS) {
    const due = ((performance.now() - start) / 1_000) * perSecond;
    while (made - before.made < due) append(nextRow());
    await new Promise((resolve) => setTimeout(resolve, TICK_MS));
  }
  const main = process.threadCpuUsage(before.main);
  const all = process.cpuUsage(before.all);
  const rows = made - before.made;
  return { main: (main.user + main.system) / rows, all: (all.user + all.system) / rows };
}

const median = (values: readonly number[]): string => (values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN).toFixed(2);

const folder = mkdtempSync(join(tmpdir(), 'poolgate-cost-'));
const store = await openStore(`sqlite:${folder}/cost.db`, { clock: Date.now });
await round(store.requests.append);
const costs: Cost[] = [];
for (let left = rounds; left > 0; left--) {
  const idle = await round(() => {});
  const busy = await round(store.requests.append);
  costs.push({ main: busy.main - idle.main, all: busy.all - idle.all });
}
await store.close();
rmSync(folder, { recursive: true });
const { written, dropped } = store.stats();
console.log(`${perSecond} rows/s, median of ${rounds} rounds: main thread ${median(costs.map(({ main }) => main))} µs a row,`);
console.log(`whole process ${median(costs.map(({ all }) => all))} µs a row; ${written} rows written, ${dropped} dropped`);
