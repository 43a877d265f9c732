// `status` and `top` against a running gateway.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { isStatusReply } from '../../../proxy/admin/replies/status-reply.ts';
import type { Terminal } from '../../../proxy/cli/text/terminal.ts';
import { carrierFailure, statusFailure } from '../../../proxy/turn/errors/failure.ts';
import { fileAt } from '../../config/files.ts';
import { startGateway } from '../../support/gateway.ts';
import { startProgram } from '../../support/program/program.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { poolgate } from '../run.ts';

test('status shows accounts with their quota, Pools and counters in 80 columns', async (context) => {
  await using gate = await startGateway({
    upstream: { accounts: ['north', { id: 'southofthewideriver' }] },
  });
  await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  for (let i = 0; i < 3; i++) gate.fail('north', 'model-a', carrierFailure('connect'));
  const { code, out, err } = await poolgate(['status', '--config', fileAt(context, gate)]);
  assert.deepEqual([code, err], [0, '']);
  const lines = out.split('\n');
  for (const line of lines) assert.ok(line.length <= 80, `${line.length}: ${line}`);
  assert.match(out, /^poolgate on [0-9a-f]{12}, ready, up \d+s, node v24/);
  assert.match(out, /^ACCOUNT +STATE +IN FLIGHT +QUOTA LEFT, RESET IN +LAST CAUSE$/m);
  assert.match(out, /^north +cooling (?:10|[1-9])s +0\/32 +5h +[█░]{7} +\d+% +\S+ +connect$/m);
  assert.match(out, /^southofthewid… +/m);
  assert.match(out, / {40,}7d +[█░]{7} +\d+% +\S+$/m);
  assert.match(out, /^team +fill_first +1 of 2: southofthewideriver$/m);
  assert.match(out, / turns 1 {2}attempts 1 {2}retries 0 /);
});

test('a cooldown of a single model has a line of its own', async (context) => {
  await using gate = await startGateway();
  const missing = Buffer.from('{"error":{"code":"model_not_found"}}');
  for (let i = 0; i < 3; i++) gate.fail('north', 'model-a', statusFailure(404, {}, missing, Date.now()));
  const { out } = await poolgate(['status', '--config', fileAt(context, gate)]);
  assert.match(out, /^north +active .*\n(?: {40,}7d .*\n)? {2}model-a: cooling \d+s, model$/m);
});

test('a Pool none of whose accounts takes turns is marked', async (context) => {
  await using gate = await startGateway({
    config: (draft) => {
      for (const account of draft.accounts) account.paused = true;
    },
  });
  const { out } = await poolgate(['status', '--config', fileAt(context, gate)]);
  assert.match(out, /^team +\w+ +0 of 2: NO ACCOUNT TAKES TURNS$/m);
});

test('status --json is the reply of the gateway, with its configuration', async (context) => {
  await using gate = await startGateway();
  const reply = JSON.parse((await poolgate(['status', '--json', '--config', fileAt(context, gate)])).out);
  assert.equal(reply.config.keys[0].id, 'ci');
  assert.deepEqual(reply.pools, [
    {
      pool: 'team',
      strategy: 'fill_first',
      accounts: ['north', 'south'],
      assigned: ['north', 'south'],
      models: ['model-a', 'model-b', 'model-mini'],
    },
  ]);
  assert.deepEqual([reply.accounts[0].visible, reply.accounts[0].maxConcurrent], [true, 32]);
  assert.equal(reply.store.in_use, false);
  assert.ok(isStatusReply(reply));
});

test('a running gateway shows its state and its requests while its file has errors', async (context) => {
  await using gate = await startGateway();
  const path = fileAt(context, gate);
  const valid = readFileSync(path, 'utf8');
  for (const broken of [valid.replace('pool: team', 'pool: taem'), `${valid}operators: [\n`]) {
    writeFileSync(path, broken);
    assert.equal((await poolgate(['check', '--config', path])).code, 1);
    for (const [command, shown] of [
      ['status', /^poolgate on /],
      ['top', /^poolgate on /],
      ['requests', /^TIME/],
    ] as const) {
      const { code, out, err } = await poolgate([command, '--config', path]);
      assert.deepEqual([code, err], [0, ''], command);
      assert.match(out, shown);
    }
    assert.equal((await poolgate(['explain', '--turn', 'none', '--config', path])).err, "the request log has no turn 'none'\n");
  }
});

test('status shows that the last reload was refused, until a reload takes effect', async () => {
  await using program = await startProgram({ here: true });
  const valid = readFileSync(program.path, 'utf8');
  const heading = async (): Promise<string> => (await program.poolgate('status')).out.split('\n')[1] ?? '';
  assert.equal(await heading(), '');
  writeFileSync(program.path, valid.replace('pool: team', 'pool: taem'));
  assert.equal((await program.poolgate('reload')).code, 1);
  assert.equal(await heading(), 'THE LAST RELOAD WAS REFUSED: `poolgate check` and the log have the reason');
  writeFileSync(program.path, valid);
  assert.equal((await program.poolgate('reload')).code, 0);
  assert.equal(await heading(), '');
});

/** A terminal at which a test presses the keys. */
class TypedTerminal implements Terminal {
  readonly size = { columns: 60, rows: 8 };
  #listen: ((key: string) => void) | undefined;

  get listening(): boolean {
    return this.#listen !== undefined;
  }

  onKey(listen: (key: string) => void): () => void {
    this.#listen = listen;
    return () => {
      this.#listen = undefined;
    };
  }

  type(key: string): void {
    this.#listen?.(key);
  }
}

test('top without a terminal prints the status once', async (context) => {
  await using gate = await startGateway();
  const { code, out } = await poolgate(['top', '--config', fileAt(context, gate)]);
  assert.equal(code, 0);
  assert.match(out, /^poolgate on /);
  assert.ok(!out.includes('\x1b'));
});

for (const [name, key] of [
  ['q', 'q'],
  ['Ctrl-C', '\x03'],
] as const) {
  test(`top redraws within the size of the terminal until ${name}`, async (context) => {
    await using gate = await startGateway();
    const terminal = new TypedTerminal();
    const every = async function* (ms: number, ended?: AbortSignal) {
      assert.equal(ms, 2000);
      for (let tick = 0; !ended?.aborted; tick++) {
        if (tick === 2) terminal.type(key);
        yield tick;
      }
    };
    const { code, out } = await poolgate(['top', '--config', fileAt(context, gate)], {}, { terminal, every });
    assert.equal(code, 0);
    const screens = out.split('\x1b[H').slice(1);
    assert.equal(screens.length, 3);
    for (const screen of screens) {
      assert.ok(screen.startsWith('poolgate on ') && screen.endsWith('\r\n\x1b[J'));
      const lines = screen.replaceAll('\x1b[K', '').split('\r\n').slice(0, -1);
      assert.equal(lines.length, 7);
      for (const line of lines) assert.ok(line.length <= 60, line);
    }
    assert.ok(!terminal.listening, 'the terminal is given back');
  });
}

test('top keeps running while the gateway does not answer', async (context) => {
  const gate = await startGateway();
  const terminal = new TypedTerminal();
  const every = async function* () {
    await gate.close();
    yield 0;
  };
  const { code, out } = await poolgate(['top', '--config', fileAt(context, gate)], {}, { terminal, every });
  assert.equal(code, 0);
  assert.match(out.split('\x1b[H').at(-1) ?? '', /^no gateway answers at /);
});
