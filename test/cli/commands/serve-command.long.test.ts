// `serve` while it is loaded, and when the process that reads its log has ended.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { startProgram } from '../../support/program/program.ts';
import { until } from '../../support/until.ts';
import { preload } from './preload.ts';

/** Sends SIGHUP while the program is loaded, and again while it starts. */
const RELOADS =
  "data:text/javascript,import{registerHooks}from'node:module';const%20hup=()=>process.kill(process.pid,'SIGHUP');" +
  'registerHooks({load(url,context,next){if(/cli.(program|serve-command)/.test(url))hup();return%20next(url,context)}})';

test('a reload that comes while the program is loaded does not end it', async (context) => {
  preload(context, RELOADS);
  await using program = await startProgram();
  assert.equal(await program.status('/v1/models'), 200);
});

test('the end of the process that reads the log does not end the gateway', async () => {
  await using program = await startProgram();
  program.closeLog();
  for (const id of ['one', 'two', 'three']) {
    // Each reload writes a line to the log.
    program.save((draft) => draft.keys.push({ id, pool: 'team', secret_sha256: [hash('sha256', id, 'hex')] }));
    await until(`key ${id}`, async () => ((await program.status('/v1/models', { key: id })) === 200 ? true : undefined));
  }
  assert.equal(await program.stop(), 0);
});
