// A separate process that writes request rows at a fixed rate, and prints their cost without the cost of making them.
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SqliteConnection } from '../../../../store/sqlite/sqlite-connection.ts';
import { openStore, type RequestRow } from '../../../../store/store.ts';
import { requestRow } from '../../../store/samples.ts';
import { median } from '../../figures/statistics.ts';
import type { Written } from '../request-log.ts';

const [directory = '.', rate = '5000', seconds = '2'] = process.argv.slice(2);
const perSecond = Number(rate);
const TICK_MS = 5;
const ROUND_MS = 400;
const PAIRS = (Number(seconds) * 1_000) / ROUND_MS;
const WARM_PAIRS = 8;

let made = 0;
const nextRow = (): RequestRow => {
  const at = Date.now();
  return requestRow({ id: `req_${at.toString(36)}${(made++).toString(36).padStart(6, '0')}`, at });
};

const file = join(mkdtempSync(join(directory, 'log-')), 'log.db');
const store = await openStore(`sqlite:${file}`, { clock: Date.now });

/** Microseconds of the main thread per row. */
async function round(append: (row: RequestRow) => void): Promise<number> {
  const before = { cpu: process.threadCpuUsage(), made };
  const start = performance.now();
  while (performance.now() - start < ROUND_MS) {
    const due = ((performance.now() - start) / 1_000) * perSecond;
    while (made - before.made < due) append(nextRow());
    await sleep(TICK_MS);
  }
  await store.flush();
  const { user, system } = process.threadCpuUsage(before.cpu);
  return (user + system) / (made - before.made);
}

const costs: number[] = [];
let skipped = 0;
for (let pair = -WARM_PAIRS; pair < PAIRS; pair++) {
  const busy = await round(store.requests.append);
  const before = made;
  const idle = await round(() => {});
  skipped += made - before;
  if (pair >= 0) costs.push(busy - idle);
}
await store.close();
// Counted in the file, because the writer also counts the rows of the sums.
const reader = await SqliteConnection.openReadOnly(file, 'shared');
const [stored] = await reader.query('SELECT count(*) AS requests FROM requests', []);
const told: Written = { lost: made - skipped - Number(stored?.requests), mainMicroseconds: median(costs) };
console.log(JSON.stringify(told));
