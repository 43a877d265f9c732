// The beginning of connections to PostgreSQL: their settings, and a server that ends them at once.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, connect as dial } from 'node:net';
import { test } from 'node:test';
import { PostgresConnections } from '../../../store/postgres/connection/postgres-connections.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';

const folderOf = (url: string): string => new URL(url).searchParams.get('host') ?? '';

/** A message of the protocol: a letter, the length, and the content. */
function message(letter: string, content: string | Buffer): Buffer {
  const head = Buffer.from(`${letter}0000`);
  head.writeInt32BE(4 + Buffer.byteLength(content), 1);
  return Buffer.concat([head, Buffer.from(content)]);
}

/** The connection is ready, and the server ends it. */
const OPENED_AND_ENDED = Buffer.concat([
  message('R', Buffer.alloc(4)),
  message('Z', 'I'),
  message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
]);

test('the server gets its deadlines with the first statement, because PgBouncer refuses a connection that begins with them', async () => {
  const begun = Promise.withResolvers<string>();
  const relay = createServer((client) => {
    client.once('data', (bytes) => begun.resolve(bytes.toString('latin1'))).on('error', () => undefined);
    client.pipe(dial(`${folderOf(url)}/.s.PGSQL.5432`).on('error', () => undefined)).pipe(client);
  });
  const url = await freshDatabase();
  relay.listen(0, '127.0.0.1');
  await once(relay, 'listening');
  const through = new URL(url);
  through.host = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
  through.searchParams.delete('host');
  const connections = new PostgresConnections({ url: through.href, most: 1, waitMs: 60_000, deadlineMs: 59_000 });
  try {
    const settings = "SELECT current_setting('statement_timeout') AS one, current_setting('idle_in_transaction_session_timeout') AS other";
    assert.deepEqual(await connections.use((connection) => connection.query(settings, [])), [{ one: '59s', other: '59s' }]);
    assert.doesNotMatch(await begun.promise, /timeout/);
  } finally {
    await connections.close();
    relay.close();
  }
});

test('an error in one read with the answer that opens the connection fails the statement, and does not end the process', async () => {
  const server = createServer((socket) => socket.once('data', () => socket.end(OPENED_AND_ENDED))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `postgres://user@127.0.0.1:${(server.address() as AddressInfo).port}/none`;
  const connections = new PostgresConnections({ url, most: 1, waitMs: 60_000, deadlineMs: 60_000 });
  try {
    await assert.rejects(
      connections.use((connection) => connection.query('SELECT 1', [])),
      { code: 'unreachable' },
    );
  } finally {
    await connections.close();
    server.close();
  }
});
