// Refusals of PostgreSQL as operators read them: with the code, and never with the text of the server.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { connectionFailureOf } from '../../../store/postgres/connection/postgres-failures.ts';
import { upgrade } from '../../../store/postgres/connection/upgrade.ts';
import { inspectStore } from '../../../store/tools/inspection.ts';
import type { Notice } from '../../../store/writing/notice.ts';

for (const [native, code, message] of [
  ['25006', 'not_writable', 'PostgreSQL: the server accepts no writes, as a standby does (25006)'],
  ['28000', 'refused', 'PostgreSQL: the user does not exist or may not log in (28000)'],
  ['28P01', 'refused', 'PostgreSQL: the password is wrong (28P01)'],
  ['3D000', 'refused', 'PostgreSQL: the database does not exist (3D000)'],
  ['42501', 'not_writable', 'PostgreSQL: the user is not permitted to do this (42501)'],
  ['23505', 'bad_row', 'PostgreSQL: 23505'],
  ['ECONNREFUSED', 'unreachable', 'PostgreSQL: nothing accepts connections there (ECONNREFUSED)'],
  ['ENOTFOUND', 'unreachable', 'PostgreSQL: there is no host of this name (ENOTFOUND)'],
  ['EPIPE', 'unreachable', 'PostgreSQL: EPIPE'],
] as const) {
  test(`${native}: ${message}`, () => {
    const failure = connectionFailureOf(Object.assign(new Error('canary'), { code: native }));
    assert.deepEqual([failure.code, failure.message], [code, message]);
  });
}

test('a server without TLS is reported as such, with advice on sslmode', async (context) => {
  // This is the answer of a PostgreSQL without TLS to a request for TLS.
  const server = createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.write('N')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const address = server.address();
  assert(address !== null && typeof address === 'object');
  const place = `postgres://127.0.0.1:${address.port}/poolgate`;
  const url = `${place.replace('//', '//poolgate:Canary-password@')}?sslmode=verify-full`;
  assert.deepEqual(await inspectStore(url, 5_000), [
    {
      level: 'problem',
      message: `${place} cannot be used (PostgreSQL: the server has no TLS).`,
      advice: 'Check the user, the password, the database and the sslmode of the URL, and the server.',
    },
  ]);
});

test('the operator is informed that a start waits for the database', async () => {
  const heard: string[] = [];
  const notice: Notice = (event, { message = '' } = {}) => void heard.push(`${event} ${message}`);
  await assert.rejects(upgrade('postgres://u:canary@127.0.0.1:1/db', { clock: Date.now, patienceMs: 300, notice }), {
    code: 'unreachable',
  });
  assert.deepEqual(heard, ['store_unreachable PostgreSQL: nothing accepts connections there (ECONNREFUSED): the start waits 0.3 s for it']);
});
