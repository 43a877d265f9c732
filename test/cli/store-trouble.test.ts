// What the commands show of a running gateway whose database cannot be written, or is also used by another gateway.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { SqliteConnection } from '../../store/sqlite/sqlite-connection.ts';
import { openStore } from '../../store/store.ts';
import type { Draft } from '../support/gateway.ts';
import { startProgram } from '../support/program/program.ts';
import { until } from '../support/until.ts';

/** What the console and assistants show first. */
async function attention({ draft }: { readonly draft: Draft }): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${draft.admin.port}/api/overview`);
  return ((await answer.json()) as Draft).attention;
}

test('status, doctor and requests show that the store cannot be written', async () => {
  await using program = await startProgram({ here: true });
  const status = async (): Promise<string> => (await program.poolgate('status')).out;
  assert.doesNotMatch(await status(), /STORE|GATEWAY/);
  const other = await SqliteConnection.open(join(program.folder, 'data/poolgate.db'));
  await other.script('BEGIN IMMEDIATE');
  assert.equal(await program.status('/v1/responses', { body: { model: 'model-a', input: 'hi' } }), 200);
  const { message } = await program.line('store_not_writable');
  assert.match(String(message), /^another process has locked the database: end it\. Until then .* memory/);
  const shown = (await status()).split('\n')[1] ?? '';
  assert.match(shown, /^STORE NOT WRITABLE for \d+s: \d+ rows wait; the log has the reason$/);
  assert.match(String(await attention(program)), /^the store cannot be written: \d+ rows wait in memory/);
  const diagnosis = await program.poolgate('doctor', '--offline');
  assert.equal(diagnosis.code, 1);
  assert.match(
    diagnosis.out,
    /^problem +gateway +The running gateway has not been able to write its store since \S+Z: \d+ rows wait in memory\.\n +-> Its log has the reason/m,
  );
  const asked = program.poolgate('requests');
  assert.match((await asked).err, /^the store cannot be written: the newest requests may be among \d+ rows that wait in memory\n$/);
  await other.script('ROLLBACK');
  await other.close();
  await program.line('store_writable');
  assert.doesNotMatch(await status(), /STORE/);
  assert.deepEqual(await attention(program), []);
  const { out, err } = await program.poolgate('requests');
  assert.match(out, / model-a /);
  assert.equal(err, '');
});

test('operator actions take effect and are answered while the store cannot be written; their audit rows are written later', async () => {
  await using program = await startProgram({
    here: true,
    config: (draft) => {
      draft.pools[0].strategy = 'fill_first';
    },
  });
  const other = await SqliteConnection.open(join(program.folder, 'data/poolgate.db'));
  await other.script('BEGIN IMMEDIATE');
  program.upstream.next('north', 'refuse 402');
  assert.equal(await program.status('/v1/responses', { body: { model: 'model-a', input: 'hi' } }), 200);
  const { code, out, err } = await program.poolgate('account', 'restore', 'north');
  assert.deepEqual([code, err], [0, ''], 'it does not wait for the store until the command gives up');
  assert.match(out, /^accounts\[north\]\./);
  await other.script('ROLLBACK');
  await other.close();
  await program.stop();
  const store = await openStore(`sqlite:${join(program.folder, 'data/poolgate.db')}`, { clock: () => Date.now() });
  const [row] = await store.audit.list({ action: 'account.restore' });
  await store.close();
  assert.equal(row?.target, 'north');
});

test('status and doctor show that another gateway has the SQLite file', async () => {
  await using program = await startProgram({ here: true });
  await program.stop();
  const claim = await SqliteConnection.open(join(program.folder, 'data/poolgate.db-gateway'));
  await claim.script('BEGIN EXCLUSIVE');
  await program.run();
  assert.match(
    String((await program.line('store_in_use')).message),
    /^another gateway has \S+poolgate\.db open: each of them counts limits/,
  );
  await until('readiness', async () => (await program.poolgate('health', '--ready')).code === 0 || undefined);
  assert.match((await program.poolgate('status')).out, /\nANOTHER GATEWAY HAS THE DATABASE: each of the two counts limits separately\n/);
  assert.match(
    (await program.poolgate('doctor', '--offline')).out,
    /^problem +gateway +Another gateway has the database of the running one/m,
  );
  await claim.close();
});
