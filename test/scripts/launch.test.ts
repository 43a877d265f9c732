// The launcher forwards signals and returns the exit code.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';

const module = new URL('../../scripts/launch.mjs', import.meta.url).href;

/** Starts a launcher of a Node that runs `child`. */
const launcherOf = (child: string) => {
  const script = `const { launch, endAs } = await import('${module}'); endAs(await launch(['node', '--eval', process.argv[1]], {}));`;
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
    process.on('SIGHUP', () => { reloads += 1; console.log('reload'); });
    process.on('SIGTERM', () => { stops += 1; setTimeout(() => process.exit(10 * reloads + stops), 200); });
    setInterval(() => {}, 1e6);
    console.log('ready');`;
  const launcher = launcherOf(child);
  await once(launcher.stdout, 'data');
  launcher.kill('SIGHUP');
  await once(launcher.stdout, 'data');
  launcher.kill('SIGTERM');
  setTimeout(() => launcher.kill('SIGTERM'), 50);
  assert.deepEqual(await once(launcher, 'exit'), [11, null]);
});
