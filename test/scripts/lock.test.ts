// Only one set-up runs at a time: a second one waits, and the end of a holder releases the lock.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { lock } from '../../scripts/lock.mjs';

const none = () => {};

test('the second process waits until the first releases', async () => {
  const name = `poolgate-test-${process.pid}-release`;
  const order: string[] = [];
  const release = await lock(name, none);
  const second = lock(name, () => order.push('second waits'));
  while (order.length === 0) await new Promise(setImmediate);
  order.push('first releases');
  release();
  (await second)();
  assert.deepEqual(order, ['second waits', 'first releases']);
});

test('a killed holder releases the lock', async () => {
  const name = `poolgate-test-${process.pid}-killed`;
  const module = new URL('../../scripts/lock.mjs', import.meta.url).href;
  const script = `const { lock } = await import('${module}'); await lock('${name}', () => {}); console.log('held'); setInterval(() => {}, 1e6);`;
  const holder = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  let waited = false;
  const mine = lock(name, () => {
    waited = true;
    holder.kill('SIGKILL');
  });
  (await mine)();
  assert.ok(waited);
});
