// `serve` as a process: its first line, a drain, and its message if it cannot start. The long tests have the other signals and messages.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openStore } from '../../../store/store.ts';
import { KEY } from '../../support/gateway.ts';
import { postOf, RawClient } from '../../support/network/raw.ts';
import { draftAt, ServeProcess } from '../../support/program/process.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const auth = { authorization: `Bearer ${KEY}` };
const readyz = async (admin: string): Promise<number> => (await fetch(`${admin}/readyz`)).status;

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream({ accounts: ['north'] });
});
after(() => upstream.close());

test('`serve` prints both addresses and the console; on SIGTERM readiness ends, the running stream completes, a new turn is 503, and the rows are kept', {
  timeout: 3 * PATIENCE_MS,
}, async () => {
  // The drain lasts longer than the test may: connections that ask for nothing hold nothing up.
  await using serving = await ServeProcess.start(draftAt(upstream, { timeouts: { drain_ms: 6 * PATIENCE_MS } }));
  const { main, admin } = await serving.addresses();
  assert.match(main, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.match(admin, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  assert.notEqual(main, admin);
  await until('readiness', async () => (await readyz(admin)) === 200 || undefined);
  assert.equal((await fetch(`${admin}/healthz`)).status, 200);
  upstream.next('north', 'stall after 5 events');
  using running = await RawClient.connect(main);
  using idle = await RawClient.connect(main);
  using silent = await RawClient.connect(main);
  idle.write('GET /nowhere HTTP/1.1\r\nhost: a\r\n\r\n');
  assert.equal((await idle.answer()).status, 404);
  running.write(postOf(NATIVE, turnBody('hello')));
  await upstream.stalled('north');
  await running.until(
    () => running.pending.includes('response.output_text.delta') || running.pending.includes('output_item.added'),
    'the stream',
  );

  serving.signal('SIGTERM');
  await until('unreadiness', async () => (await readyz(admin)) === 503 || undefined);
  const refused = await fetch(`${main}${NATIVE}`, { method: 'POST', headers: auth, body: JSON.stringify(turnBody('late')) });
  assert.equal(refused.status, 503);
  assert.equal(refused.headers.get('connection'), 'close');
  assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]/);
  assert.equal(((await refused.json()) as { error: { code: string } }).error.code, 'server_is_overloaded');
  assert.equal(upstream.turns().filter(({ body }) => body.includes('late')).length, 0);

  upstream.release('north');
  const { status, body } = await running.answer();
  assert.equal(status, 200);
  assert.ok(body.includes('response.completed'), 'whole');
  const { code, out, err } = await serving.ended;
  assert.equal(code, 0);
  assert.match(out, /^poolgate serves .*\nconsole http:.*\n$/, 'two lines');
  assert.equal(err, '');
  await Promise.all([idle.ended(), silent.ended()]);

  const store = await openStore(`sqlite:${join(serving.folder, 'data/poolgate.db')}`, { clock: Date.now });
  const rows = await store.requests.list({});
  await store.close();
  assert.deepEqual(rows.map(({ status: told }) => told).sort(), [200, 404, 503]);
});

test('`serve` that cannot start because its file has errors reports each with its place, without a stack, and has exit code 1', async () => {
  await using serving = await ServeProcess.start({ ...draftAt(upstream), lisen: {} });
  const { code, out, err } = await serving.ended;
  assert.equal(code, 1, err);
  assert.equal(out, '');
  assert.match(err, /config\.yaml:\d+:\d+: .*lisen/);
  assert.ok(err.includes('listen'), 'and what might be meant');
  assert.ok(!/^\s+at /m.test(err), `a stack:\n${err}`);
  assert.ok(!err.includes('node:'), err);
});
