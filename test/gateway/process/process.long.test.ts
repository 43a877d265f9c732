// `serve` as an operator sees it: all signals, and all messages if it cannot start. Each case starts a process.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { SqliteConnection } from '../../../store/sqlite/sqlite-connection.ts';
import { openStore } from '../../../store/store.ts';
import { folderFor } from '../../config/files.ts';
import { KEY } from '../../support/gateway.ts';
import { postOf, RawClient } from '../../support/network/raw.ts';
import { draftAt, ServeProcess } from '../../support/program/process.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const auth = { authorization: `Bearer ${KEY}` };
const readyz = async (admin: string): Promise<number> => (await fetch(`${admin}/readyz`)).status;

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream({ accounts: ['north', 'stopped', 'locked', 'group', 'killed'] });
});
after(() => upstream.close());

describe('a gateway that serves', { concurrency: true }, () => {
  test('prints both addresses and the console, and ends in order on SIGTERM', async () => {
    await using serving = await ServeProcess.start(draftAt(upstream));
    const { main, admin } = await serving.addresses();
    assert.match(main, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    assert.match(admin, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    assert.notEqual(main, admin);
    await until('readiness', async () => (await readyz(admin)) === 200 || undefined);
    assert.equal((await fetch(`${main}/v1/models`, { headers: auth })).status, 200);
    assert.equal((await fetch(`${admin}/healthz`)).status, 200);
    serving.signal('SIGTERM');
    const { code, out, err } = await serving.ended;
    assert.equal(code, 0);
    assert.match(out, /^poolgate serves .*\nconsole http:.*\n$/, 'two lines');
    assert.equal(err, '');
  });

  test('stops hard after drain_ms, and the turn that was cut leaves its row', async () => {
    await using serving = await ServeProcess.start(draftAt(upstream, { timeouts: { drain_ms: 300 } }, 'stopped'));
    const { main } = await serving.addresses();
    upstream.next('stopped', 'stall after 5 events');
    using running = await RawClient.connect(main);
    running.write(postOf(NATIVE, turnBody('for ever')));
    await running.until(() => running.pending.includes('output_item.added'), 'the stream');
    serving.signal('SIGTERM');
    const { code } = await serving.ended;
    assert.equal(code, 0);
    await running.ended();
    const store = await openStore(`sqlite:${join(serving.folder, 'data/poolgate.db')}`, { clock: Date.now });
    const [row] = await store.requests.list({});
    await store.close();
    // The client was there until the end: the gateway cut the turn (S5).
    assert.deepEqual([row?.outcome, row?.status, row?.error_class], ['cut', 200, 'gateway_stopped']);
  });

  test('that cannot write its rows logs it, logs at its stop how many it lost, and ends with exit code 1', async () => {
    await using serving = await ServeProcess.start(draftAt(upstream, {}, 'locked'));
    const { main, admin } = await serving.addresses();
    const other = await SqliteConnection.open(join(serving.folder, 'data/poolgate.db'));
    // The lock is taken at once, so the audit rows of the start may be among the rows that wait.
    await other.script('BEGIN IMMEDIATE');
    const headers = { ...auth, 'content-type': 'application/json' };
    const turn = await fetch(`${main}${NATIVE}`, { method: 'POST', headers, body: JSON.stringify(turnBody('hello')) });
    assert.ok((await turn.text()).includes('response.completed'));
    await until('the line', () => serving.log.includes('store_not_writable') || undefined);
    serving.signal('SIGTERM');
    // This limit is shorter than the time after which the stop gives up the audit rows of the start.
    await until('unreadiness', async () => (await readyz(admin).catch(() => 'closed')) !== 200 || undefined, 1_500);
    const { code, err } = await serving.ended;
    await other.close();
    assert.equal(code, 1);
    const lines = err
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [failing, lost] = [lines[0], lines.at(-1)];
    assert.deepEqual([failing.level, failing.event, failing.code], ['warn', 'store_not_writable', 'locked']);
    assert.deepEqual([lost.level, lost.event], ['error', 'store_rows_lost']);
    assert.ok(lost.rows >= 2, 'the row of the turn, and the usage of its key');
  });

  test('drains when all processes of its service are signalled, and its launcher forwards the same signal', async () => {
    await using serving = await ServeProcess.start(draftAt(upstream, { timeouts: { drain_ms: 60_000 } }, 'group'));
    const { main, admin } = await serving.addresses();
    upstream.next('group', 'stall after 5 events');
    using running = await RawClient.connect(main);
    running.write(postOf(NATIVE, turnBody('to the end')));
    await upstream.stalled('group');
    await running.until(() => running.pending.includes('output_item.added'), 'the stream');
    serving.signal('SIGTERM');
    serving.signal('SIGINT');
    await until('unreadiness', async () => (await readyz(admin)) === 503 || undefined);
    upstream.release('group');
    assert.ok((await running.answer()).body.includes('response.completed'), 'whole');
    assert.equal((await serving.ended).code, 0);
  });

  test('ends at once on a second signal', async () => {
    await using serving = await ServeProcess.start(draftAt(upstream, { timeouts: { drain_ms: 60_000 } }, 'killed'));
    const { main, admin } = await serving.addresses();
    upstream.next('killed', 'stall after 5 events');
    using running = await RawClient.connect(main);
    running.write(postOf(NATIVE, turnBody('for ever')));
    await running.until(() => running.pending.includes('output_item.added'), 'the stream');
    serving.signal('SIGTERM');
    await until('unreadiness', async () => (await readyz(admin)) === 503 || undefined);
    // A second signal within half a second counts as the first one.
    const again = setInterval(() => serving.signal('SIGTERM'), 100);
    const { code } = await serving.ended;
    clearInterval(again);
    assert.equal(code, 1);
  });
});

describe('a gateway that cannot start', { concurrency: true }, () => {
  /** Asserts one line for the operator, the exit code 1, and no internals of the program. */
  async function refuses(file: ConstructorParameters<typeof Object>[0], words: RegExp): Promise<string> {
    await using serving = await ServeProcess.start(file);
    const { code, out, err } = await serving.ended;
    assert.equal(code, 1, err);
    assert.equal(out, '');
    assert.match(err, words);
    assert.ok(!/^\s+at /m.test(err), `a stack:\n${err}`);
    assert.ok(!err.includes('node:'), err);
    return err;
  }

  test('because its port is in use names the port', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const err = await refuses(draftAt(upstream, { listen: { host: '127.0.0.1', port } }), new RegExp(`${port}`));
    assert.equal(err.trimEnd().split('\n').length, 1);
    taken.close();
  });

  test('because its admin port is in use names the port, and serves nothing', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const err = await refuses(draftAt(upstream, { admin: { host: '127.0.0.1', port } }), new RegExp(`${port}`));
    assert.equal(err.trimEnd().split('\n').length, 1);
    taken.close();
  });

  test('because its host is not an address of this machine reports that', async () => {
    await refuses(draftAt(upstream, { listen: { host: '192.0.2.1', port: 0 } }), /192\.0\.2\.1/);
  });

  test('because its store is a folder, or not a database, names the file', async (context) => {
    const folder = folderFor(context);
    await refuses(draftAt(upstream, { store: `sqlite:${folder}` }), /store /);
    const path = join(folder, 'no-database.db');
    await writeFile(path, 'this is no database at all, '.repeat(100));
    const err = await refuses(draftAt(upstream, { store: `sqlite:${path}` }), /store .*no-database/);
    assert.equal(err.trimEnd().split('\n').length, 1);
  });

  test('because its file is no YAML names the place', async () => {
    await refuses('accounts: [', /config\.yaml:\d+:\d+: /);
  });
});
