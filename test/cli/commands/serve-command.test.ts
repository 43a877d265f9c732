// `serve`: everything that the program writes to its log is a JSON line, from the first one on.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';

function preload(context: TestContext, module: string): void {
  const { NODE_OPTIONS } = process.env;
  process.env.NODE_OPTIONS = `--import=${module}`;
  context.after(() => {
    if (NODE_OPTIONS === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = NODE_OPTIONS;
  });
}

/** Loaded before the program: a signal makes Node warn of something. */
const WARNS = "data:text/javascript,process.on('SIGUSR2',()=>process.emitWarning('an%20odd%20thing',{code:'ODD'}))";

/** SIGHUP while the program is loaded, and again while it starts. */
const RELOADS =
  "data:text/javascript,import{registerHooks}from'node:module';const%20hup=()=>process.kill(process.pid,'SIGHUP');" +
  'registerHooks({load(url,context,next){if(/cli.(program|serve-command)/.test(url))hup();return%20next(url,context)}})';

test('a reload that comes while the program is loaded does not end it', async (context) => {
  preload(context, RELOADS);
  await using program = await startProgram();
  assert.equal(await program.status('/v1/models'), 200);
});

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

test('the end of the process that reads the log does not end the gateway', async () => {
  await using program = await startProgram();
  program.closeLog();
  for (const id of ['one', 'two', 'three']) {
    // Each reload is a line of the log.
    program.save((draft) => draft.keys.push({ id, pool: 'team', secret_sha256: [hash('sha256', id, 'hex')] }));
    await until(`key ${id}`, async () => ((await program.status('/v1/models', { key: id })) === 200 ? true : undefined));
  }
  assert.equal(await program.stop(), 0);
});
