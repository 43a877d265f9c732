// The inspection of a PostgreSQL database: what it finds in one that is in order, and what is wrong with others; it changes nothing.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { inspectStore } from '../../store/inspection.ts';
import { openStore } from '../../store/store.ts';
import { fileWith, SMALL } from '../config/files.ts';
import { doctor } from '../doctor/support.ts';
import { freshDatabase, postgres } from '../support/postgres.ts';

const inspected = async (url: string, connections = 12): Promise<readonly string[]> =>
  (await inspectStore(url, { deadlineMs: 5_000, connections })).map(({ level, message }) => `${level}: ${message}`);

const NO_FSYNC =
  'warning: postgres://localhost/postgres does not wait for its disk (fsync = off): a crash of its machine can damage the database.';

test('a database in order, empty or not, has nothing to be done, and no table is created', async () => {
  const url = await freshDatabase();
  const [server, fsync, empty, connections, ...rest] = await inspected(url);
  assert.match(server ?? '', /^ok: postgres:\/\/localhost\/postgres is PostgreSQL 18; the database has \d+ MiB\.$/);
  // Servers of tests do not wait for disks.
  assert.equal(fsync, NO_FSYNC);
  assert.equal(empty, 'ok: postgres://localhost/postgres has no tables; the first start creates them.');
  assert.match(connections ?? '', /^ok: .* has 1 of 297 connections in use; a node takes up to 12\.$/);
  assert.deepEqual(rest, []);
  await (await openStore(url, { clock: Date.now })).close();
  assert.equal((await inspected(url)).length, 3);
});

test('too few connections, a newer schema and a user without rights are found', async () => {
  const url = await freshDatabase();
  const server = await postgres();
  await (await openStore(url, { clock: Date.now })).close();
  assert.match((await inspected(url, 1_000)).at(-1) ?? '', /^warning: .*a node takes up to 1000\.$/);
  await server.query(url, 'INSERT INTO schema_version (version, applied_at, oldest) VALUES (99, 1, 98)');
  assert.match((await inspected(url))[2] ?? '', /^problem: .* has schema version 99; this program knows \d+\.$/);
  await server.query(url, 'CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA public TO reader');
  const reader = new URL(server.url);
  reader.username = 'reader';
  assert.ok((await inspected(reader.href)).includes('problem: postgres://localhost/postgres: the user of the URL may not create tables.'));
});

test('[Q34] doctor finds a database that cannot be used, and repeats no password', async (context) => {
  const path = fileWith(context, `${SMALL}store: { postgres: { file: url.txt } }\n`);
  const report = async (url: string) => {
    writeFileSync(join(dirname(path), 'url.txt'), url, { mode: 0o600 });
    return doctor(path, ['--offline']);
  };
  const refused = await report('postgres://poolgate:hunter2@127.0.0.1:1/nowhere');
  assert.deepEqual(refused.of('store'), ['problem: postgres://127.0.0.1:1/nowhere cannot be used (PostgreSQL: ECONNREFUSED).']);
  assert.ok(!refused.out.includes('hunter2'));
  const sound = await report(await freshDatabase());
  assert.equal(
    sound
      .of('store')
      .filter((line) => !line.startsWith('ok: '))
      .join(),
    NO_FSYNC,
  );
});
