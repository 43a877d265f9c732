// The launcher forwards signals and returns the exit code.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { until } from '../support/until.ts';

const module = new URL('../../scripts/launch.mjs', import.meta.url).href;

/** Starts a launcher of a Node that runs `child`. @param setting a script that runs in the launcher first */
const launcherOf = (child: string, setting = '') => {
  const script = `${setting}; const { launch, endAs } = await import('${module}'); endAs(await launch(['node', '--eval', process.argv[1]], {}));`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script, child], { stdio: ['ignore', 'pipe', 'inherit'] });
};

test('the exit code of the command is the exit code of the launcher', async () => {
  assert.deepEqual(await once(launcherOf('process.exit(7)'), 'exit'), [7, null]);
});

test('a command that is ended by a signal ends the launcher with the same signal', async () => {
  assert.deepEqual(await once(launcherOf("process.kill(process.pid, 'SIGKILL')"), 'exit'), [null, 'SIGKILL']);
});

test('signals reach the command, and a duplicate within 250 ms is dropped', async () => {
  const child = `
    let [stops, reloads] = [0, 0];
    process.on('SIGTERM', () => { stops += 1; console.log('stop'); });
    process.on('SIGHUP', () => { reloads += 1; console.log('reload'); if (stops > 0) process.exit(10 * reloads + stops); });
    setInterval(() => {}, 1e6);
    console.log('ready');`;
  // The time of the launcher does not pass, and it says when it has dealt with a signal.
  const setting = `Date.now = () => 1e12; process.on('SIGTERM', () => setImmediate(() => console.log('signalled')))`;
  const launcher = launcherOf(child, setting);
  let out = '';
  launcher.stdout.on('data', (text) => {
    out += text;
  });
  const printed = (line: string, count = 1) => until(`${count} ${line}`, () => out.split(line).length > count || undefined);
  await printed('ready');
  launcher.kill('SIGHUP');
  await printed('reload');
  launcher.kill('SIGTERM');
  await printed('stop');
  await printed('signalled');
  launcher.kill('SIGTERM');
  await printed('signalled', 2);
  launcher.kill('SIGHUP');
  assert.deepEqual(await once(launcher, 'exit'), [21, null]);
});
