// The program as a process reloads its file on a signal, and from the first moment on.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { startProgram } from '../../support/program/program.ts';
import { until } from '../../support/until.ts';

test('the file is reloaded on SIGHUP, and an equal file changes nothing', async () => {
  await using program = await startProgram();
  program.signal('SIGHUP');
  const line = await until('the signal to be heard', () => program.lines('config_read').find(({ actor }) => actor === 'signal'));
  assert.equal(typeof line.version, 'string');
  assert.equal(await program.status('/v1/models'), 200);
});

test('a change that is saved while the process starts takes effect', async () => {
  await using program = await startProgram();
  await program.stop();
  const running = program.run();
  // The moment between its first read of the file and its first watch is unknown, so the file is saved again and again until the program
  // serves.
  let saved = 0;
  let serves = false;
  void running.finally(() => {
    serves = true;
  });
  while (!serves) {
    saved += 1;
    program.replace((draft) => {
      draft.keys = [draft.keys[0], { id: `save-${saved}`, pool: 'team', secret_sha256: [hash('sha256', `secret-${saved}`, 'hex')] }];
    });
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await running;
  await until('the last key to open', async () =>
    (await program.status('/v1/models', { key: `secret-${saved}` })) === 200 ? true : undefined,
  );
});
