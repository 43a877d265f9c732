// Properties of SQLite: the file, its schema, and other processes that use the file.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { migrate, migrations } from '../../../store/schema/migrations.ts';
import * as tables from '../../../store/schema/tables.ts';
import { DatabaseClaim } from '../../../store/sqlite/claim.ts';
import { SqliteConnection } from '../../../store/sqlite/sqlite-connection.ts';
import { openStore, type StoreErrorCode } from '../../../store/store.ts';
import { PATIENCE_MS, until } from '../../support/until.ts';
import { folder } from '../adapters.ts';
import { auditEntry, requestRow, usageRow } from '../samples.ts';

const clock = () => 5_000;

/** Opens the store like a gateway, and records the events of the operator log. */
async function gatewayOn(path: string) {
  const events: string[] = [];
  const store = await openStore(`sqlite:${path}`, { clock, gateway: true, notice: (event) => events.push(event) });
  return { store, events };
}

const database = async (context: TestContext): Promise<string> => `${await folder(context)}/poolgate.db`;
const refused = (code: StoreErrorCode, text: RegExp) => (error: Error & { readonly code?: string }) => {
  assert.equal(error.code, code);
  assert.match(error.message, text);
  return true;
};
const otherProcess = (...args: readonly string[]) =>
  spawn(process.execPath, [fileURLToPath(new URL('other-process.ts', import.meta.url)), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });

test('flushed rows survive kill -9', { timeout: 3 * PATIENCE_MS }, async (context) => {
  const path = await database(context);
  const child = otherProcess('hang', `sqlite:${path}`, 'row');
  const exit = once(child, 'exit');
  await once(child.stdout, 'data');
  await sleep(20);
  child.kill('SIGKILL');
  await exit;
  const store = await openStore(`sqlite:${path}`, { clock });
  const rows = await store.requests.list({ limit: 1_000 });
  assert.ok(rows.length >= 300);
  for (let n = 0; n < 300; n++) assert.equal((await store.requests.list({ id: `row_${n}` })).length, 1);
  const [state] = await store.accounts.load();
  assert.equal(state?.cooldown_until, 9_999);
  await store.close();
});

test('two processes write to one file at once, also to a fresh one, and nothing is lost', { timeout: 3 * PATIENCE_MS }, async (context) => {
  const url = `sqlite:${await database(context)}`;
  const others = ['one', 'two'].map((name) => once(otherProcess('add', url, name), 'exit'));
  const store = await openStore(url, { clock });
  for (let n = 0; n < 300; n++) store.requests.append(requestRow({ id: `here_${n}` }));
  for (const exit of others) assert.deepEqual(await exit, [0, null]);
  await store.flush();
  assert.equal((await store.requests.list({ limit: 1_000 })).length, 900);
  assert.equal(store.stats().dropped, 0);
  await store.close();
});

test('a fresh database is readable only by its owner, in a folder that was made for it', async (context) => {
  const path = `${await folder(context)}/a/b/poolgate.db`;
  const store = await openStore(`sqlite:${path}`, { clock });
  await store.audit.record(auditEntry());
  for (const file of [path, `${path}-wal`]) assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(dirname(path))).mode & 0o777, 0o700);
  await store.close();
});

test('[S4] no byte of an unknown field reaches the file', async (context) => {
  const path = await database(context);
  const store = await openStore(`sqlite:${path}`, { clock });
  store.requests.append({ ...requestRow(), ...{ body: 'CANARY-IN-A-BODY' } });
  await store.flush();
  const bytes = Buffer.concat([await readFile(path), await readFile(`${path}-wal`)]);
  assert.equal(bytes.includes('CANARY-IN-A-BODY'), false);
  assert.equal(bytes.includes('/backend-api/agent/responses'), true);
  await store.close();
});

test('an empty file gets the schema, and the tables have exactly the columns that the program knows', async (context) => {
  const path = await database(context);
  await writeFile(path, '');
  await (await openStore(`sqlite:${path}`, { clock })).close();
  const connection = await SqliteConnection.open(path);
  for (const table of Object.values(tables)) {
    if (typeof table === 'function') continue;
    const columns = await connection.query(`SELECT name FROM pragma_table_info('${table.name}')`, []);
    assert.deepEqual(
      columns.map(({ name }) => name),
      table.columns,
    );
  }
  const applied = await connection.query('SELECT version, applied_at FROM schema_version ORDER BY version', []);
  assert.deepEqual(
    applied,
    applied.map((_, index) => ({ version: index + 1, applied_at: 5_000 })),
  );
  await connection.close();
});

test('a lease of a process that was killed is free again when the clock was set back after it', async (context) => {
  const path = await database(context);
  const time = { now: 10 * 3_600_000 };
  const [killed, next] = await Promise.all([1, 2].map(() => openStore(`sqlite:${path}`, { clock: () => time.now })));
  assert.ok(killed && next);
  context.after(() => Promise.all([killed.close(), next.close()]));
  assert.ok(await killed.leases.acquire('refresh/north', 'a/1', 30_000));
  time.now -= 1_000;
  assert.equal(await next.leases.acquire('refresh/north', 'b/1', 30_000), undefined, 'a second is a clock that was set');
  time.now -= 3_600_000;
  const taken = await next.leases.acquire('refresh/north', 'b/1', 30_000);
  assert.equal(taken?.expires_at, time.now + 30_000);
  assert.equal(await killed.leases.acquire('refresh/north', 'a/1', 30_000), undefined);
});

test('a database is upgraded in place with its rows by a further step', async (context) => {
  const path = await database(context);
  const before = await openStore(`sqlite:${path}`, { clock });
  before.requests.append(requestRow());
  await before.close();
  const connection = await SqliteConnection.open(path);
  const step = { sql: `ALTER TABLE requests ADD COLUMN note TEXT NOT NULL DEFAULT 'none'` };
  for (let start = 0; start < 2; start++) {
    await migrate(connection, { clock, apply: ({ sql = '' }) => connection.script(sql), steps: [...migrations, step] });
  }
  assert.deepEqual(await connection.query('SELECT id, note FROM requests', []), [{ id: 'req_1', note: 'none' }]);
  const applied = await connection.query('SELECT version FROM schema_version ORDER BY version', []);
  assert.deepEqual(
    applied.map(({ version }) => version),
    [...migrations, step].map((_, index) => index + 1),
  );
  await connection.close();
});

test('a database of a newer program is refused and left as it is', async (context) => {
  const path = await database(context);
  await (await openStore(`sqlite:${path}`, { clock })).close();
  const connection = await SqliteConnection.open(path);
  await connection.run('INSERT INTO schema_version (version, applied_at) VALUES ($1, $2)', [99, 1]);
  await connection.close();
  await assert.rejects(
    openStore(`sqlite:${path}`, { clock }),
    refused('too_new', /poolgate\.db: the store has schema version 99; this program supports version \d+: start a newer poolgate/),
  );
});

test('a file that cannot be opened is refused with a reason', async (context) => {
  const path = await folder(context);
  await writeFile(`${path}/text`, 'this is no database, but long enough to look at: '.repeat(100));
  await mkdir(`${path}/folder`);
  await assert.rejects(
    openStore(`sqlite:${path}/text`, { clock }),
    refused('corrupt', /text: it is not a database, or it is damaged \(`poolgate store check` gives advice\); SQLite: SQLITE_NOTADB/),
  );
  await assert.rejects(
    openStore(`sqlite:${path}/folder`, { clock }),
    refused('not_writable', /folder: cannot be written: it is a folder \(EISDIR\)/),
  );
  await assert.rejects(
    openStore(`sqlite:${path}/text/poolgate.db`, { clock }),
    refused('not_writable', /cannot be written: one of its folders is a file \(E/),
  );
  await assert.rejects(openStore('sqlite:', { clock }), refused('bad_url', /sqlite:PATH/));
  await assert.rejects(openStore('mysql://x', { clock }), refused('bad_url', /sqlite:PATH/));
});

test('rows wait while another process holds the file, and are written when it releases the file', {
  timeout: 3 * PATIENCE_MS,
}, async (context) => {
  const path = await database(context);
  const heard: string[] = [];
  const store = await openStore(`sqlite:${path}`, {
    clock,
    notice: (event, { code } = {}) => void heard.push(code ? `${event} ${code}` : event),
  });
  const other = await SqliteConnection.open(path);
  await other.script('BEGIN IMMEDIATE');
  store.requests.append(requestRow());
  const saved = store.audit.record(auditEntry());
  await until('a write to fail', () => store.stats().last_error === 'locked' || undefined);
  assert.equal(await store.flush(1), false);
  assert.deepEqual(await store.requests.list({}), [], 'reading goes on');
  await other.script('COMMIT');
  await other.close();
  await saved;
  assert.equal((await store.requests.list({})).length, 1);
  assert.equal(store.stats().failing_since, null);
  assert.deepEqual(heard, ['store_not_writable locked', 'store_writable']);
  assert.equal(await store.close(), 0);
});

test('a close that cannot write returns how many rows it lost', async (context) => {
  const path = await database(context);
  const store = await openStore(`sqlite:${path}`, { clock });
  const other = await SqliteConnection.open(path);
  await other.script('BEGIN IMMEDIATE');
  store.requests.append(requestRow());
  store.usage.add(usageRow());
  assert.equal(await store.close(100), 3, 'with the sums of the hour');
  await other.close();
});

test('a full disk is reported as such', async (context) => {
  const connection = await SqliteConnection.open(await database(context));
  await connection.script('CREATE TABLE filler (text TEXT); PRAGMA max_page_count = 3');
  await assert.rejects(connection.run('INSERT INTO filler VALUES ($1)', ['x'.repeat(100_000)]), refused('full', /SQLITE_FULL/));
  await connection.close();
});

test('a store in memory works for tests', async () => {
  const store = await openStore('sqlite::memory:', { clock });
  store.requests.append(requestRow());
  await store.flush();
  assert.deepEqual(await store.requests.list({}), [requestRow()]);
  await store.close();
});

test('a second gateway on the file is reported, a reader is not, and neither is the successor of one that ended', async (context) => {
  const path = await database(context);
  const first = await gatewayOn(path);
  const reader = await openStore(`sqlite:${path}`, { clock });
  const link = `${path}.link`;
  await symlink(path, link);
  const second = await gatewayOn(link);
  assert.deepEqual([first.events, second.events], [[], ['store_in_use']]);
  assert.deepEqual([first.store.inUse(), second.store.inUse(), reader.inUse()], [false, true, false]);
  await Promise.all([first.store.close(), second.store.close(), reader.close()]);
  const third = await gatewayOn(path);
  await third.store.close();
  assert.deepEqual(third.events, []);
});

test('a gateway that was killed leaves no claim on the file, and one that waited for it takes it over', async (context) => {
  const path = await database(context);
  const script = `import { DatabaseClaim } from ${JSON.stringify(import.meta.resolve('../../../store/sqlite/claim.ts'))};
    await DatabaseClaim.of(${JSON.stringify(path)}, { notice: () => {} });
    setInterval(() => {}, 60_000);
    console.log('claimed');`;
  const process = spawn(globalThis.process.execPath, ['--input-type=module', '--eval', script], { stdio: 'pipe' });
  context.after(() => process.kill('SIGKILL'));
  await once(process.stdout, 'data');
  const events: string[] = [];
  const waiting = await DatabaseClaim.of(path, { notice: (event) => events.push(event), everyMs: 10 });
  assert.deepEqual(events[0], 'store_in_use');
  process.kill('SIGKILL');
  await once(process, 'exit');
  await until('the claim', () => (events.includes('store_alone') ? true : undefined));
  const other = await gatewayOn(path);
  assert.deepEqual(other.events, ['store_in_use']);
  await Promise.all([waiting.close(), other.store.close()]);
});
