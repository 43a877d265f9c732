// The inspection of a SQLite file: its findings for sound, damaged, foreign and large files; it changes nothing.
import assert from 'node:assert/strict';
import { pbkdf2 } from 'node:crypto';
import { chmod, open, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { SqliteConnection } from '../../../store/sqlite/sqlite-connection.ts';
import { folderConditions, freeSpaceCondition } from '../../../store/sqlite/sqlite-inspection.ts';
import { openStore } from '../../../store/store.ts';
import { inspectStore } from '../../../store/tools/inspection.ts';
import { folder } from '../adapters.ts';
import { requestRow } from '../samples.ts';

async function databaseOf(context: TestContext, rows: number): Promise<string> {
  const path = `${await folder(context)}/poolgate.db`;
  const store = await openStore(`sqlite:${path}`, { clock: () => 5_000 });
  for (let n = 0; n < rows; n++) store.requests.append(requestRow({ id: `row_${n}` }));
  await store.close();
  return path;
}

const inspected = async (path: string, deadlineMs = 10_000): Promise<readonly string[]> =>
  (await inspectStore(`sqlite:${path}`, deadlineMs)).map(({ level, message }) => `${level}: ${message.replace(/^\S+\//, '')}`);

test('a sound database passes, also while a gateway writes to it, and is not changed', async (context) => {
  const path = await databaseOf(context, 10);
  const before = await readFile(path);
  const [integrity, sizes, disk, ...rest] = await inspected(path);
  assert.equal(integrity, "ok: poolgate.db passes SQLite's integrity check.");
  assert.match(sizes ?? '', /^ok: poolgate\.db has 1 MiB, and its log of writes 0 MiB\.$/);
  assert.match(disk ?? '', /of free disk\.$/);
  assert.deepEqual(rest, []);
  assert.ok(before.equals(await readFile(path)));
  assert.deepEqual(await readdir(dirname(path)), ['poolgate.db']);

  const store = await openStore(`sqlite:${path}`, { clock: () => 5_000 });
  store.requests.append(requestRow({ id: 'meanwhile' }));
  assert.equal((await inspected(path))[0], "ok: poolgate.db passes SQLite's integrity check.");
  await store.close();
});

test('a database with overwritten pages is damaged, and so is a file that is not a database', async (context) => {
  const path = await databaseOf(context, 2_000);
  const { size } = await stat(path);
  const file = await open(path, 'r+');
  for (let at = 16_384; at < size; at += 16_384) await file.write(Buffer.alloc(4_096, 0xee), 0, 4_096, at);
  await file.close();
  assert.match((await inspected(path))[0] ?? '', /^problem: poolgate\.db is damaged: /);

  const other = `${await folder(context)}/poolgate.db`;
  await writeFile(other, 'no database'.repeat(1_000));
  assert.equal((await inspected(other))[0], 'problem: poolgate.db is damaged: it is not a SQLite database, or a damaged one.');
});

test('a database that only a newer program can use is a problem, an empty file is none', async (context) => {
  const path = await databaseOf(context, 1);
  const connection = await SqliteConnection.open(path);
  await connection.run('INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)', [99, 1]);
  await connection.close();
  assert.match((await inspected(path))[0] ?? '', /^problem: poolgate\.db has schema version 99; this program supports \d+\.$/);

  const empty = `${await folder(context)}/poolgate.db`;
  await writeFile(empty, '');
  assert.equal((await inspected(empty))[0], 'ok: poolgate.db has no tables; the next start creates them.');
});

test('a log of writes that was not emptied is a warning', async (context) => {
  const path = await databaseOf(context, 1);
  await writeFile(`${path}-wal`, '');
  // The file is sparse, so it takes no disk space.
  await truncate(`${path}-wal`, 300 << 20);
  assert.ok((await inspected(path)).includes('warning: poolgate.db has 1 MiB, and its log of writes 300 MiB: SQLite could not empty it.'));
});

/** A database whose check takes some tenths of a second. */
async function largeDatabase(context: TestContext): Promise<string> {
  const path = await databaseOf(context, 0);
  const connection = await SqliteConnection.open(path);
  await connection.script(`
    CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
    SELECT i, printf('%0100d', i) AS padding FROM n;
    CREATE INDEX filler_padding ON filler (padding)`);
  await connection.close();
  return path;
}

const LATE = 'warning: poolgate.db: the integrity check did not end within 0.005 s.';

test('a check that takes too long ends at the deadline', async (context) => {
  assert.equal((await inspected(await largeDatabase(context), 5))[0], LATE);
});

test('a check that still waits for a thread at its deadline ends after it', async (context) => {
  const path = await largeDatabase(context);
  const derive = promisify(pbkdf2);
  let ended = false;
  // There is more work than threads, so each statement waits.
  const busy = Array.from({ length: 16 }, async () => {
    while (!ended) await derive('a', 'b', 40_000, 32, 'sha256');
  });
  context.after(() => Promise.all(busy));
  const [integrity] = await inspected(path, 5).finally(() => (ended = true));
  assert.equal(integrity, LATE);
});

test('little free disk is a warning, almost none a problem', () => {
  const levelOf = (bytes: number) => freeSpaceCondition('/data', bytes).level;
  assert.deepEqual([2 ** 30, 2 ** 30 - 1, 100 << 20, (100 << 20) - 1].map(levelOf), ['ok', 'warning', 'warning', 'problem']);
});

test('a folder in which the gateway cannot create files is a problem', async (context) => {
  assert.deepEqual(folderConditions('/data', true), []);
  assert.deepEqual(folderConditions('/data', false), [
    {
      level: 'problem',
      message: "/data cannot be written: the gateway cannot create the database in it, or the database's log of writes.",
      advice: 'Give the folder to the user of the gateway, or mount its file system writable if it is read-only.',
    },
  ]);

  // Even root cannot write below a file.
  const file = `${await folder(context)}/data`;
  await writeFile(file, '');
  assert.match((await inspected(`${file}/poolgate.db`))[0] ?? '', /^problem: data cannot be written: /);
});

test('an unwritable folder is found by a user who is not root', { skip: process.getuid?.() === 0 && 'as root' }, async (context) => {
  const path = await databaseOf(context, 1);
  await chmod(dirname(path), 0o500);
  const found = await inspected(path);
  await chmod(dirname(path), 0o700);
  assert.ok(
    found.some((line) => /^problem: \S+ cannot be written: /.test(line)),
    found.join('\n'),
  );
});

test('a store in memory has nothing to inspect', async () => {
  assert.deepEqual(await inspectStore('sqlite::memory:', 1_000), [
    { level: 'ok', message: 'The store is in memory: nothing is kept after a stop.' },
  ]);
});
