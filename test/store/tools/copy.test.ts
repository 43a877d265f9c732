// Copies of a whole store between both engines in both directions: either every row arrives, or none does.
import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { openStore, type Store } from '../../../store/store.ts';
import { type CopiedCount, copyStore } from '../../../store/tools/copy.ts';
import { freshDatabase, postgres } from '../../support/postgres/postgres.ts';
import { adapters, folder } from '../adapters.ts';
import {
  accountRow,
  attemptRow,
  auditEntry,
  credentialRow,
  fileRow,
  joinedAs,
  limitedTurn,
  pinRow,
  requestRow,
  usageRow,
} from '../samples.ts';

const clock = () => 5_000;
const TEXTS = ['', 'it\'s\n"quoted"', '\\u0000 \\', '🦄 é \u{10ffff}', 'x'.repeat(2_000), 'nul\0nul'];

const using = async <Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> => {
  const store = await openStore(url, { clock });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
};

/** Writes rows into every table, into some of them more than one chunk. */
const fill = (url: string): Promise<void> =>
  using(url, async (store) => {
    for (let n = 0; n < 1_200; n++) {
      const id = `req_${String(n).padStart(5, '0')}`;
      const model = TEXTS[n % TEXTS.length] ?? null;
      store.requests.append(requestRow({ id, at: n, model, tokens_estimated: n % 2 === 0, input_tokens: n % 3 ? n : null }), [
        attemptRow({ request_id: id, ordinal: 0 }),
        attemptRow({ request_id: id, ordinal: 10 }),
      ]);
    }
    store.accounts.patch(accountRow());
    store.accounts.patch(accountRow({ model: 'model-a', windows: null, cooldown_until: Number.MAX_SAFE_INTEGER }));
    for (const account of ['north', 'south']) {
      store.catalog.put({ account, entries: JSON.stringify(TEXTS.slice(0, 5)).repeat(50), etag: null, read_at: 1 });
    }
    for (const hash of ['b', 'a', 'B', 'é', '']) store.pins.put(pinRow({ hash }));
    for (const day of [0, 86_400_000, -1]) store.usage.add(usageRow({ day }));
    await store.credentials.save(credentialRow());
    await store.credentials.recordImport({ account: 'north', imported: 'cd34', at: 1 });
    await store.files.save(fileRow());
    await store.audit.record(auditEntry());
    await store.runningConfig.save({ name: 'running', config: { a: [1, null, 'é'] }, version: 'abc', at: 1 });
    // Rows of running processes are not copied.
    const node = await joinedAs(store, 'a');
    await store.limits.take(limitedTurn({ node }), { concurrent: 1 });
    await store.slots.claim(node, [{ account: 'north', most: 3, kept: 1, wanted: 2 }]);
    for (let n = 0; n < 3; n++) await store.leases.acquire(`lease-${n}`, 'owner', 1_000);
    await store.flush();
  });

/** The rows that a gateway would find. */
const contentOf = (url: string) =>
  using(url, async (store) => ({
    // PostgreSQL does not store NUL.
    requests: (await store.requests.list({ limit: 1_000 })).map((row) => ({ ...row, model: row.model?.replaceAll('\0', '\ufffd') })),
    attempts: await store.attempts.of(requestRow({ id: 'req_00002' })),
    accounts: await store.accounts.load(),
    catalog: await store.catalog.load(),
    pins: new Set((await store.pins.load(10)).map(({ hash }) => hash)),
    usage: await store.usage.sums({ by: ['day', 'key_id', 'pool'] }),
    credentials: await store.credentials.load(),
    files: await store.files.list({ pool: 'team', limit: 10 }),
    audit: await store.audit.list({}),
    running: await store.runningConfig.find('running'),
    days: (await store.limits.use('ci')).days,
  }));

const isEmpty = (url: string): Promise<void> =>
  using(url, async (store) => {
    assert.deepEqual([await store.requests.list({}), await store.audit.list({}), await store.accounts.load()], [[], [], []]);
  });

for (const from of adapters) {
  for (const to of adapters) {
    suite(`a copy from ${from.name} to ${to.name}`, () => {
      test('has every row of every table, and reports how many', async (context) => {
        const [source, destination] = [await from.fresh(context), await to.fresh(context)];
        await fill(source);
        const counts: CopiedCount[] = [];
        await copyStore(source, destination, (count) => counts.push(count));
        const rows = Object.fromEntries(counts.map(({ table, rows: count }) => [table, count]));
        assert.deepEqual(rows, {
          account_state: 2,
          attempts: 2_400,
          audit: 1,
          catalog: 2,
          check_values: 0,
          credential_imports: 1,
          credentials: 1,
          files: 1,
          pins: 5,
          requests: 1_200,
          running_config: 1,
          usage: 3,
          usage_days: new Set(TEXTS.map((text) => text ?? '')).size,
          usage_hours: new Set(TEXTS.map((text) => text ?? '')).size,
          usage_pool_hours: 1,
        });
        assert.equal(
          new Set(counts.filter((count) => count.rows > 0).map(({ digest }) => digest)).size,
          13,
          'each has a digest of its own, but the days and the hours: all rows are of the first hour of a day',
        );
        assert.deepEqual(await contentOf(destination), await contentOf(source));
        const token = await using(destination, async (store) => (await store.leases.acquire('lease-0', 'owner', 1_000))?.token ?? 0);
        assert.ok(token > 3, `${token}: the leases of the source have smaller tokens`);
      });

      test('is refused where the destination has rows, which stay as they are', async (context) => {
        const [source, destination] = [await from.fresh(context), await to.fresh(context)];
        await using(source, (store) => store.audit.record(auditEntry({ actor: 'source' })));
        await using(destination, (store) => store.audit.record(auditEntry({ actor: 'destination' })));
        await assert.rejects(copyStore(source, destination), {
          code: 'not_empty',
          message: 'the destination has rows in audit; it must be empty',
        });
        assert.deepEqual(await using(destination, async (store) => (await store.audit.list({})).map(({ actor }) => actor)), [
          'destination',
        ]);
      });
    });
  }
}

test('a copy that differs is not committed', async (context) => {
  const [source, destination] = [`sqlite:${await folder(context)}/source.db`, await freshDatabase()];
  await fill(source);
  await isEmpty(destination);
  await (await postgres()).query(
    destination,
    `CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.sealed = 'spoiled'; RETURN NEW; END $$;
     CREATE TRIGGER spoil BEFORE INSERT ON credentials FOR EACH ROW EXECUTE FUNCTION spoil()`,
  );
  await assert.rejects(copyStore(source, destination), { message: 'credentials differs in the destination: 1 rows were sent, 1 arrived' });
  await isEmpty(destination);
});

test('a source file that does not exist is not created', async (context) => {
  const path = `${await folder(context)}/none.db`;
  for (let n = 0; n < 2; n++) {
    await assert.rejects(copyStore(`sqlite:${path}`, await freshDatabase()), { message: `store ${path}: there is no such file` });
  }
});

test('a gateway that writes to the source during the copy does not change the copied rows', async (context: TestContext) => {
  const [source, destination] = [`sqlite:${await folder(context)}/source.db`, await freshDatabase()];
  await fill(source);
  await using(source, async (running) => {
    let copied = 0;
    await copyStore(source, destination, () => {
      copied++;
      running.usage.add(usageRow({ key_id: `new-${copied}` }));
      void running.flush();
    });
    await running.flush();
    assert.equal((await running.usage.load(-1)).length, 3 + copied);
  });
  assert.equal((await using(destination, (store) => store.usage.load(-1))).length, 3);
});
