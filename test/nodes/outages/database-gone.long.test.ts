// A process that stops while its database is unreachable, or while its settlements cannot be written.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearerOf, draftFor, KEY } from '../../support/gateway.ts';
import { sendTo } from '../../support/network/sent-requests.ts';
import { freshDatabase, postgres } from '../../support/postgres/postgres.ts';
import { Link } from '../../support/postgres/postgres-link.ts';
import { ServeProcess } from '../../support/program/process.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';

test('[Q34] a process without an admin listener that stops while the database is gone writes its settlements when it is back', async (context) => {
  const upstream = await startUpstream({ strict: false, accounts: [{ id: 'north', credential: bearerOf('north') }] });
  context.after(() => upstream.close());
  const direct = await freshDatabase();
  const link = await Link.open(direct);
  context.after(() => link.close());
  const draft = await draftFor(['north'], upstream, { store: link.url(direct) });
  draft.keys[0].limits = { requests_per_day: 100 };
  draft.admin = false;
  await using serving = await ServeProcess.start(draft);
  const [, url = ''] = /serves (\S+)/.exec(await serving.line()) ?? [];
  upstream.next('north', 'stall before headers');
  const running = sendTo({ url, key: KEY }, NATIVE, { body: turnBody('hi') });
  await upstream.stalled('north');
  link.refuses = true;
  link.cut();
  upstream.release('north');
  assert.equal((await running).status, 200);
  serving.signal('SIGTERM');
  // This is shorter than the time for which a stopping node tries to write its settlements.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  link.refuses = false;
  const { code, err } = await serving.ended;
  assert.equal(code, 0, err);
  assert.doesNotMatch(err, /settlements_lost/);
  const rows = await (await postgres()).query(direct, 'SELECT key_id, requests FROM usage');
  assert.deepEqual(rows, [{ key_id: 'ci', requests: '1' }]);
});

test('[Q34] a process that could not write its settlements ends with exit code 1, and its log has their number', async (context) => {
  const upstream = await startUpstream({ strict: false, accounts: [{ id: 'north', credential: bearerOf('north') }] });
  context.after(() => upstream.close());
  const store = await freshDatabase();
  const draft = await draftFor(['north'], upstream, { store });
  draft.keys[0].limits = { requests_per_day: 100 };
  await using serving = await ServeProcess.start(draft);
  const { main } = await serving.addresses();
  upstream.next('north', 'stall before headers');
  const running = sendTo({ url: main, key: KEY }, NATIVE, { body: turnBody('hi') });
  await upstream.stalled('north');
  // All other rows can be written.
  await (await postgres()).query(store, 'ALTER TABLE key_grants RENAME TO key_grants_taken_away');
  upstream.release('north');
  assert.equal((await running).status, 200);
  serving.signal('SIGTERM');
  const { code, err } = await serving.ended;
  assert.match(err, /"event":"settlements_lost".*"settlements":1/);
  assert.doesNotMatch(err, /store_rows_lost/);
  assert.equal(code, 1);
});
