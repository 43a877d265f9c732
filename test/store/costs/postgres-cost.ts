// Prints the cost of PostgreSQL: `node --import tsx test/store/costs/postgres-cost.ts [URL]`. It is a measurement, not a test.
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore, type Store } from '../../../store/store.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { accountRow, pinRow, requestRow, usageRow } from '../samples.ts';

const SECONDS = 3;
const url = process.argv[2] ?? (await freshDatabase());
const open = (): Promise<Store> => openStore(url, { clock: Date.now });

/** How many calls of `act` end in a second with `callers` at once, and the CPU time of this process for each. */
async function measured(what: string, callers: number, act: (n: number) => Promise<unknown>, weight = 1): Promise<void> {
  let count = 0;
  const times: number[] = [];
  const before = process.cpuUsage();
  const end = performance.now() + SECONDS * 1_000;
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      const start = performance.now();
      await act(count++);
      times.push(performance.now() - start);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  const at = (share: number): string => (times[Math.floor(times.length * share)] ?? Number.NaN).toFixed(2);
  const rate = Math.round((times.length * weight) / SECONDS);
  const cpu = ((user + system) / times.length / weight).toFixed(1);
  console.log(`${what}: ${rate}/s, ${at(0.5)} ms (p99 ${at(0.99)}), CPU ${cpu} µs each`);
}

const store = await open();
let id = 0;
const rows = (count: number): void => {
  for (let n = 0; n < count; n++)
    store.requests.append(requestRow({ id: `r${String(id++).padStart(9, '0')}`, at: Date.now(), duration_ms: n }));
};
await measured(
  'request rows, 1,000 a batch',
  1,
  () => {
    rows(1_000);
    return store.flush();
  },
  1_000,
);
await measured(
  'settled turns (request, usage, pin), 1,000 a batch',
  1,
  async () => {
    rows(1_000);
    for (let n = 0; n < 1_000; n++) store.usage.add(usageRow({ key_id: `key-${n % 50}` }));
    for (let n = 0; n < 1_000; n++) store.pins.put(pinRow({ hash: `${id}-${n}` }));
    await store.flush();
  },
  1_000,
);
await measured('one saved row at a time', 1, (n) =>
  store.credentials.save({ account: `a${n % 100}`, imported: 'x', sealed: 'y', updated_at: n }),
);
await measured('a row by its key', 8, () => store.credentials.find('a1'));
await measured('a lease, acquired and released', 8, async (n) => {
  const lease = await store.leases.acquire(`lease-${n}`, 'owner', 10_000);
  if (lease) await store.leases.release(lease);
});
await measured('a held lease, refused', 8, () => store.leases.acquire('lease-held', 'owner', 1_000_000));

const writers = await Promise.all(Array.from({ length: 8 }, open));
for (const [what, write] of [
  ['tracked', (one: Store, n: number) => one.accounts.patch(accountRow({ account: `w${writers.indexOf(one)}`, streak: n }))],
  ['untracked', (one: Store, n: number) => one.pins.put(pinRow({ hash: `w${writers.indexOf(one)}-${n}` }))],
] as const) {
  await measured(`batches with one ${what} row, 8 writers`, 8, async (n) => {
    const one = writers[n % 8] as Store;
    write(one, n);
    await one.flush();
  });
}

const reader = await open();
let woken = 0;
reader.changes.listen?.(() => woken++);
await sleep(500);
const delays: number[] = [];
for (let n = 0; n < 50; n++) {
  const before = woken;
  const start = performance.now();
  store.accounts.patch(accountRow({ streak: n }));
  await store.flush();
  while (woken === before) await sleep(1);
  delays.push(performance.now() - start);
  await sleep(60);
}
delays.sort((a, b) => a - b);
console.log(`from a flushed change to the other process's wake: ${delays[25]?.toFixed(1)} ms (longest ${delays[49]?.toFixed(1)})`);

process.exit();
