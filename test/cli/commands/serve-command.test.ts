// `serve` writes only JSON lines to its log, from the first line on.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProgram } from '../../support/program/program.ts';
import { preload } from './preload.ts';

/** This module is loaded before the program; on a signal it makes Node emit a warning. */
const WARNS = "data:text/javascript,process.on('SIGUSR2',()=>process.emitWarning('an%20odd%20thing',{code:'ODD'}))";

test('warnings of the file and of Node are lines of the log, like all that follows', async (context) => {
  preload(context, WARNS);
  await using program = await startProgram({ config: (draft) => draft.pools.push({ id: 'idle', assignments: [] }) });
  const { line, column, level, message } = await program.line('config_warning');
  assert.equal(message, 'pools[idle].assignments: this Pool has no account, so every turn of it is refused');
  assert.ok(level === 'warn' && line > 0 && column > 0);
  program.signal('SIGUSR2');
  const { at: _, ...warned } = await program.line('process_warning');
  assert.deepEqual(warned, { level: 'warn', event: 'process_warning', name: 'Warning', code: 'ODD', message: 'an odd thing' });
  assert.equal(await program.stop(), 0);
  const others = program.written.split('\n').filter((text) => text !== '' && !text.startsWith('{'));
  assert.match(others.join('\n'), /^poolgate serves http:.*\nconsole http:\/\/127\.0\.0\.1:\d+$/);
});
