// The findings of `doctor` about a PostgreSQL store that is new, in use, newer than the program, unreachable, or not named.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { openStore } from '../../store/store.ts';
import { freshDatabase, postgres } from '../support/postgres/postgres.ts';
import { doctor, fileFor } from './support.ts';

const SECRET_URL = 'postgres://poolgate:Canary-password@127.0.0.1:1/poolgate';

function fileOn(context: TestContext, store: string): string {
  const path = fileFor(context);
  const text = `listen: { port: 0 }
admin: { port: 0 }
store: ${store}
store_key: { file: store.key }
limits: { connections: 100 }
accounts: [{ id: north, base_url: "rehearsal:" }]
pools: [{ id: team, assignments: [{ account: north }] }]
keys: []
`;
  writeFileSync(path, text);
  return path;
}

test('a database is described, before the first start and after it', async (context) => {
  const url = await freshDatabase();
  const path = fileOn(context, '{ postgres: { env: DATABASE_URL } }');
  const [server, schema, ...rest] = (await doctor(path, [], { DATABASE_URL: url })).of('store');
  assert.match(server ?? '', /^ok: postgres:\/\/\S+ is PostgreSQL \d+\S* and has \d+ MiB\.$/);
  assert.match(schema ?? '', /^ok: .+ has no tables; the next start creates them\.$/);
  assert.match(rest[0] ?? '', /^ok: \d+ of \d+ connections of the server are open\.$/);
  assert.deepEqual(rest.slice(1), ['ok: The clock of the database agrees with that of this machine.']);

  await (await openStore(url, { clock: Date.now })).close();
  assert.equal((await doctor(path, [], { DATABASE_URL: url })).of('store').length, 3);

  await (await postgres()).query(url, 'INSERT INTO schema_version (version, applied_at) VALUES (900, 0)');
  const newer = await doctor(path, [], { DATABASE_URL: url });
  assert.equal(newer.code, 1);
  assert.match(newer.of('store')[1] ?? '', /^problem: .+ has schema version 900; this program supports \d+\.$/);
});

test('an unreachable database is a problem, reported without its password; an unset variable is a warning', async (context) => {
  const path = fileOn(context, '{ postgres: { env: DATABASE_URL } }');
  const unreachable = await doctor(path, [], { DATABASE_URL: SECRET_URL });
  assert.equal(unreachable.code, 1);
  assert.deepEqual(unreachable.of('store'), [
    'problem: postgres://127.0.0.1:1/poolgate cannot be used (PostgreSQL: nothing accepts connections there (ECONNREFUSED)).',
  ]);
  assert(!unreachable.out.includes('Canary'));
  assert.deepEqual((await doctor(path)).of('store'), ['warning: The URL of the database is not set here: the database was not checked.']);
});

test('a file with its URL that other users can read is a problem', async (context) => {
  const path = fileOn(context, '{ postgres: { file: url } }');
  writeFileSync(join(dirname(path), 'url'), SECRET_URL, { mode: 0o644 });
  const [first] = (await doctor(path)).of('files');
  assert.match(first ?? '', /^problem: \S+url: every user of the machine can read it \(mode 0644\)\.$/);
});
