// A second process for the tests: `add URL NAME` writes 300 requests and ends; `hang URL` writes 300, reports it, and runs until killed.
import { setTimeout as sleep } from 'node:timers/promises';
import { openStore } from '../../../store/store.ts';
import { accountRow, requestRow } from '../samples.ts';

const [task, url = '', name = 'row'] = process.argv.slice(2);
const store = await openStore(url, { clock: Date.now });
let made = 0;
const add = (count: number) => {
  for (let left = count; left > 0; left--) store.requests.append(requestRow({ id: `${name}_${made++}` }));
};

add(300);
store.accounts.patch(accountRow({ account: name, health: 'failing', cooldown_until: 9_999 }));
await store.flush();
if (task === 'add') await store.close();
else {
  process.stdout.write('flushed\n');
  for (;;) {
    add(50);
    await sleep(1);
  }
}
