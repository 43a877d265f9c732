// A second process for the tests: it reports that its store is open, waits for a line, takes the same limits and leases as the first
// process, and prints how many of them it got.
import { once } from 'node:events';
import { openStore } from '../../store/store.ts';
import { joinedAs, limitedTurn } from './samples.ts';

const store = await openStore(process.argv[2] ?? '', { clock: () => 1_000_000 });
process.stdout.write('open\n');
const turn = limitedTurn({ node: await joinedAs(store, 'there', 1_000_000_000) });
await once(process.stdin, 'data');
let granted = 0;
let leases = 0;
for (let n = 0; n < 60; n++) {
  if ((await store.limits.take({ ...turn, grant: `there-${n}` }, { concurrent: 50 })).outcome === 'granted') granted++;
  if (await store.leases.acquire(`lease-${59 - n}`, 'there', 1_000_000_000)) leases++;
}
await store.close();
process.stdout.write(`${granted} ${leases}\n`);
process.stdin.destroy();
