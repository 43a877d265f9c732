// `store backup`, `store restore` and `store check`: a backup is complete while a gateway writes, has no key, and is restored only if it is
// undamaged.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { SqliteConnection } from '../../../store/sqlite/sqlite-connection.ts';
import { openStore, type Store } from '../../../store/store.ts';
import { fileWith, SMALL } from '../../config/files.ts';
import { requestRow } from '../../store/samples.ts';
import { startProgram } from '../../support/program/program.ts';
import { poolgate } from '../run.ts';

const KEY = 'the key of the store, which no backup has';

interface Place {
  readonly path: string;
  readonly folder: string;
  readonly backup: string;
  readonly store: () => Promise<Store>;
}

async function place(context: TestContext, rows = 3): Promise<Place> {
  const path = fileWith(context, `${SMALL}store: sqlite:data/gate.db\nstore_key: { file: store.key }\n`);
  const folder = dirname(path);
  writeFileSync(join(folder, 'store.key'), `${KEY}\n`);
  const open = (): Promise<Store> => openStore(`sqlite:${join(folder, 'data/gate.db')}`, { clock: () => 5_000 });
  const store = await open();
  for (let i = 0; i < rows; i++) store.requests.append(requestRow({ id: `req_${i}` }));
  await store.close();
  return { path, folder, backup: join(folder, 'backups/monday.db'), store: open };
}

const counted = async (store: Store): Promise<number> => (await store.requests.list({ limit: 100 })).length;

test('a backup has all rows with their digests, and not the key; a restore brings them back', async (context) => {
  const { path, folder, backup, store } = await place(context);
  const made = await poolgate(['store', 'backup', backup, '--config', path]);
  assert.deepEqual([made.code, made.err], [0, '']);
  assert.match(made.out, /^requests +3 +[0-9a-f]{16}$/m);
  assert.equal(statSync(backup).mode & 0o777, 0o600);
  assert.ok(!readFileSync(backup, 'latin1').includes(KEY));
  assert.match((await poolgate(['store', 'check', backup, '--config', path])).out, /^\S+monday\.db is a whole backup of /m);
  const later = await store();
  later.requests.append(requestRow({ id: 'req_later' }));
  await later.close();
  const refused = await poolgate(['store', 'restore', backup, '--config', path]);
  assert.equal(refused.code, 1);
  assert.match(refused.err, /exists: with --force it is moved aside/);
  const restored = await poolgate(['store', 'restore', backup, '--config', path, '--force', '--json']);
  assert.equal(restored.code, 0, restored.err);
  const aside = JSON.parse(restored.out).moved_aside as string;
  assert.equal(await counted(await store()), 3);
  assert.equal(await counted(await openStore(`sqlite:${aside}`, { clock: () => 5_000 })), 4);
  const connection = await SqliteConnection.open(join(folder, 'data/gate.db'));
  assert.deepEqual(await connection.query("SELECT name FROM sqlite_schema WHERE name = 'backup_manifest'", []), []);
  await connection.close();
});

test('a backup of a gateway that runs and writes is whole, and is not restored under it', async (context) => {
  const program = await startProgram({ here: true });
  context.after(() => program[Symbol.asyncDispose]());
  const turn = () => program.fetch('/v1/responses', { body: { model: 'model-a', input: 'hello' } }).then((response) => response.text());
  for (let i = 0; i < 5; i++) await turn();
  let writes = true;
  const load = (async () => {
    while (writes) await turn();
  })();
  const backup = join(program.folder, 'backup.db');
  const made = await program.poolgate('store', 'backup', backup);
  writes = false;
  await load;
  assert.deepEqual([made.code, made.err], [0, '']);
  assert.equal((await program.poolgate('store', 'check', backup)).code, 0);
  assert.equal((await program.poolgate('store', 'check')).code, 0);
  const under = await program.poolgate('store', 'restore', backup, '--force');
  assert.deepEqual([under.code, /a gateway has .* open: stop it/.test(under.err)], [1, true]);
  await program.stop();
  assert.equal((await program.poolgate('store', 'restore', backup, '--force')).code, 0);
  await program.run();
  assert.equal((await turn()).includes('"object"'), true);
});

test('a backup that was changed, cut or is none is found, and not restored', async (context) => {
  const { path, folder, backup } = await place(context);
  await poolgate(['store', 'backup', backup, '--config', path]);
  const bytes = readFileSync(backup);
  const changed = join(folder, 'changed.db');
  writeFileSync(changed, bytes);
  const connection = await SqliteConnection.open(changed);
  await connection.run("UPDATE requests SET status = 500 WHERE id = 'req_1'", []);
  await connection.close();
  writeFileSync(join(folder, 'cut.db'), bytes.subarray(0, bytes.length - 9_000));
  writeFileSync(join(folder, 'text.db'), 'no database');
  for (const [file, said] of [
    [changed, /the rows of requests are not those that were backed up \(3 then, 3 now\)/],
    [join(folder, 'cut.db'), /damaged|not a backup/],
    [join(folder, 'text.db'), /not a backup/],
    [join(folder, 'data/gate.db'), /not a backup/],
  ] as const) {
    const checked = await poolgate(['store', 'check', file, '--config', path]);
    assert.equal(checked.code, 1, file);
    assert.match(checked.out, said);
    const restored = await poolgate(['store', 'restore', file, '--config', path, '--force']);
    assert.equal(restored.code, 1);
    assert.match(restored.err, said);
  }
  assert.match((await poolgate(['store', 'backup', backup, '--config', path])).err, /exists: name a file that does not/);
  assert.match((await poolgate(['store', 'check', join(folder, 'none.db'), '--config', path])).err, /there is no such file/);
});

test('a backup and a check name the file that is missing, a folder, or not a database', async (context) => {
  const { path, folder, backup } = await place(context);
  const store = join(folder, 'data/gate.db');
  const said = async (...args: string[]): Promise<string> => {
    const { code, out, err } = await poolgate(['store', ...args, '--config', path]);
    assert.equal(code, 1);
    return out + err;
  };
  assert.equal(await said('check', folder), `${folder}: it is a folder\n`);
  writeFileSync(join(folder, 'text.db'), 'no database');
  assert.equal(
    await said('check', join(folder, 'text.db')),
    `${join(folder, 'text.db')} is not a backup of poolgate, or it is damaged: SQLite cannot read it.\n`,
  );
  writeFileSync(store, 'no database, but as long as the head of one. '.repeat(20));
  assert.equal(
    await said('backup', backup),
    `store ${store}: it is not a SQLite database, or it is damaged; \`poolgate doctor\` gives advice\n`,
  );
  rmSync(store);
  assert.equal(await said('backup', backup), `store ${store}: there is no such file; the first start of the gateway creates it\n`);
  mkdirSync(store);
  assert.equal(await said('backup', backup), `store ${store}: it is a folder\n`);
  assert.ok(!existsSync(backup));
});

test('another key than that of the backup is reported at the check and at the restore', async (context) => {
  const { path, folder, backup } = await place(context);
  await poolgate(['store', 'backup', backup, '--config', path]);
  writeFileSync(join(folder, 'store.key'), 'another key of the store\n');
  assert.match(
    (await poolgate(['store', 'check', backup, '--config', path])).out,
    /The key at store_key is another one than that of the backup/,
  );
  assert.match((await poolgate(['store', 'restore', backup, '--config', path, '--force'])).out, /or OAuth accounts must log in again/);
});

test('PostgreSQL is left to its own tools, with their commands', async (context) => {
  const path = fileWith(context, `${SMALL}store: { postgres: { env: DATABASE_URL } }\n`);
  const backup = join(dirname(path), 'backup.db');
  const { code, err } = await poolgate(['store', 'backup', backup, '--config', path]);
  assert.deepEqual([code, existsSync(backup)], [1, false]);
  assert.match(err, /pg_dump --format=custom/);
  assert.match((await poolgate(['store', 'restore', backup, '--config', path])).err, /pg_restore/);
});
