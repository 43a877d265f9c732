// Nodes in separate processes: the messages if an operator starts a node twice, or starts it again after it was killed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Draft } from '../../support/gateway.ts';
import { freshDatabase, postgres } from '../../support/postgres/postgres.ts';
import { draftAt, ServeProcess } from '../../support/program/process.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { until } from '../../support/until.ts';

const nodeA = { node: { id: 'node-a' } };

async function stage(): Promise<{ readonly url: string; readonly draft: Draft } & AsyncDisposable> {
  const upstream = await startUpstream({ accounts: ['north'] });
  const url = await freshDatabase();
  const draft = draftAt(upstream, { ...(await postgres()).settings(url), ...nodeA });
  return { url, draft, [Symbol.asyncDispose]: () => upstream.close() };
}

test('[Q34] a second process with the name of a living node reports it and ends; the first one keeps serving', async () => {
  await using here = await stage();
  await using first = await ServeProcess.start(here.draft);
  const { admin } = await first.addresses();
  await using second = await ServeProcess.start(here.draft);
  const { code, out, err } = await second.ended;
  assert.equal(code, 1);
  assert.equal(out, '');
  const [warning = '', message] = err.trimEnd().split('\n');
  assert.equal(JSON.parse(warning).event, 'node_name_in_use');
  assert.match(JSON.parse(warning).message, /or runs: the start waits for the end of its lease, until \S+Z at the latest$/);
  assert.match(message ?? '', /^a node named node-a is running already \(poolgate \S+, since \S+Z\): give this process another node\.id$/);
  assert.equal((await fetch(`${admin}/readyz`)).status, 200);
});

test('[Q34] a process that starts again after it was killed waits for its former lease, and takes its name', async () => {
  await using here = await stage();
  await using killed = await ServeProcess.start(here.draft);
  await killed.line();
  killed.signal('SIGKILL');
  await killed.ended;
  await using again = await ServeProcess.start(here.draft);
  await until('it to wait', () => again.log.includes('node_name_in_use') || undefined);
  // The lease expires as if 30 s had passed.
  await (await postgres()).query(here.url, `UPDATE nodes SET expires_at = ${Date.now() - 1}`);
  assert.match(await again.line(), /^poolgate serves /);
});

test('a stop ends a process during its start, by a handler of its own: process 1 of a container has no default action', async () => {
  await using here = await stage();
  await using killed = await ServeProcess.start(here.draft);
  await killed.line();
  killed.signal('SIGKILL');
  await killed.ended;
  await using again = await ServeProcess.start(here.draft);
  await until('it to wait', () => again.log.includes('node_name_in_use') || undefined);
  again.signal('SIGTERM');
  const { code, signal, out } = await again.ended;
  assert.deepEqual([code, signal, out], [143, null, '']);
});

test('[Q34] a process that ends in order gives its name back at once', async () => {
  await using here = await stage();
  await using first = await ServeProcess.start(here.draft);
  await first.line();
  first.signal('SIGTERM');
  assert.equal((await first.ended).code, 0);
  await using second = await ServeProcess.start(here.draft);
  await second.line();
  assert.doesNotMatch(second.log, /node_name_in_use/);
});
