// `store copy`: how the two databases are named, and the output.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { openStore } from '../../../store/store.ts';
import { fileWith, folderFor, SMALL } from '../../config/files.ts';
import { requestRow } from '../../store/samples.ts';
import { freshDatabase } from '../../support/postgres/postgres.ts';
import { poolgate } from '../run.ts';

const clock = () => 5_000;

test('store copy copies the store of the configuration file to the database of a variable, and back', async (context) => {
  const path = fileWith(context, `${SMALL}store: sqlite:gate.db\n`);
  const source = await openStore(`sqlite:${join(dirname(path), 'gate.db')}`, { clock });
  source.requests.append(requestRow());
  await source.close();
  const env = { DATABASE_URL: await freshDatabase() };
  const there = await poolgate(['store', 'copy', '--config', path, '--to', 'postgres:DATABASE_URL'], env);
  assert.equal(there.code, 0, there.err);
  assert.match(there.out, /^TABLE +ROWS +SHA-256\n[\s\S]*^requests +1 +[0-9a-f]{16}\n[\s\S]*^All rows arrived/m);
  assert.match(there.err, /^requests: 1 rows$/m);
  const back = `sqlite:${folderFor(context)}/back.db`;
  const { code, out } = await poolgate(['store', 'copy', '--from', 'postgres:DATABASE_URL', '--to', back, '--json'], env);
  assert.equal(code, 0);
  const { tables } = JSON.parse(out) as { tables: { table: string; rows: number; digest: string }[] };
  const row = tables.find(({ table }) => table === 'requests');
  assert.equal(row?.rows, 1);
  assert.ok(there.out.includes(row.digest.slice(0, 16)));
  const again = await poolgate(['store', 'copy', '--from', 'postgres:DATABASE_URL', '--to', back], env);
  assert.deepEqual(
    [again.code, again.err],
    [1, 'the destination has rows in requests, usage_days, usage_hours, usage_pool_hours; it must be empty\n'],
  );
});

test('store copy accepts a configuration file for either end', async (context) => {
  const from = fileWith(context, `${SMALL}store: sqlite:gate.db\n`);
  await (await openStore(`sqlite:${join(dirname(from), 'gate.db')}`, { clock })).close();
  const to = fileWith(context, `${SMALL}store: { postgres: { file: url.txt } }\n`);
  writeFileSync(join(dirname(to), 'url.txt'), await freshDatabase());
  const { code, err } = await poolgate(['store', 'copy', '--from', from, '--to', to]);
  assert.equal(code, 0, err);
});

test('store copy reports what is wrong with either end, and repeats no secret', async (context) => {
  const path = fileWith(context, `${SMALL}store: { postgres: { env: UNSET } }\n`);
  const broken = fileWith(context, `${SMALL}stores: x\n`);
  const args = (to: string): readonly string[] => ['store', 'copy', '--from', 'sqlite:none.db', '--to', to];
  for (const [to, code, message] of [
    ['postgres://u:hunter2@h/d', 2, '--to: put the URL into an environment variable, and name that: postgres:NAME\n'],
    [
      'postgres:UNSET',
      1,
      '--to: the environment variable UNSET is not set, or is not a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE\n',
    ],
    [
      'postgres:WRONG',
      1,
      '--to: the environment variable WRONG is not set, or is not a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE\n',
    ],
    [path, 1, `--to: the store of ${path} is not set, or is not a URL such as postgres://USER:PASSWORD@HOST:5432/DATABASE\n`],
    [broken, 1, `--to: ${broken} has errors; \`poolgate check --config ${broken}\` lists them\n`],
  ] as const) {
    const ran = await poolgate(args(to), { WRONG: 'hunter2' });
    assert.deepEqual([ran.code, ran.err], [code, message]);
  }
  assert.equal((await poolgate(['store', 'copy'])).code, 2);
});
