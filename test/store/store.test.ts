// Rows that every adapter stores and returns.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { suite, type TestContext, test } from 'node:test';
import { openStore, type RequestRow, type Store, StoreError } from '../../store/store.ts';
import { PATIENCE_MS, until } from '../support/until.ts';
import { adapters } from './adapters.ts';
import { accountRow, attemptRow, auditEntry, credentialRow, fileRow, pinRow, requestRow, usageRow } from './samples.ts';

const NOW = 5_000;
const clock = () => NOW;

for (const adapter of adapters) {
  const open = async (context: TestContext, url?: string): Promise<Store> => {
    const store = await openStore(url ?? (await adapter.fresh(context)), { clock });
    context.after(() => store.close());
    return store;
  };
  const ids = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id);
  const fill = async (store: Store, rows: readonly RequestRow[]) => {
    for (const row of rows) store.requests.append(row);
    assert.equal(await store.flush(), true);
  };

  suite(`store on ${adapter.name}`, () => {
    test('every field of every row is there after closing and opening again', async (context) => {
      const url = await adapter.fresh(context);
      const before = await open(context, url);
      const bare = requestRow({
        id: 'req_2',
        pool: null,
        account: null,
        model: null,
        input_tokens: null,
        why: null,
        tokens_estimated: true,
      });
      const second = attemptRow({ ordinal: 1, account: 'South', cause: 'rate_limited', status: null, error_class: null });
      before.requests.append(requestRow({ at: 2_000 }), [attemptRow(), second]);
      before.requests.append(bare);
      before.accounts.patch(accountRow());
      before.catalog.put({ account: 'north', entries: '{"models": [ {"id":1.0} ]}', etag: 'W/"x"', read_at: 7 });
      before.pins.put(pinRow());
      before.usage.add(usageRow());
      await before.credentials.save(credentialRow());
      await before.audit.record(auditEntry());
      await before.close();

      const store = await open(context, url);
      assert.deepEqual(await store.requests.list({}), [requestRow({ at: 2_000 }), bare]);
      assert.deepEqual(await store.attempts.of(requestRow()), [attemptRow(), second]);
      assert.deepEqual(await store.attempts.of(bare), []);
      assert.deepEqual(await store.accounts.load(), [accountRow()]);
      assert.deepEqual(await store.catalog.load(), [
        { account: 'north', entries: '{"models": [ {"id":1.0} ]}', etag: 'W/"x"', read_at: 7 },
      ]);
      assert.deepEqual(await store.pins.load(10), [pinRow()]);
      assert.deepEqual(await store.usage.load(0), [usageRow()]);
      assert.deepEqual(await store.credentials.load(), [credentialRow()]);
      const [{ id, ...entry } = { id: '' }] = await store.audit.list({});
      assert.deepEqual(entry, auditEntry());
      assert.match(id, /^[0-9a-f-]{36}$/);
    });

    test('[S4] members that are not fields of a row are not stored', async (context) => {
      const store = await open(context);
      const leaking = { ...requestRow(), authorization: 'Bearer secret', body: { prompt: 'secret' } };
      await fill(store, [leaking]);
      assert.deepEqual(await store.requests.list({}), [requestRow()]);
    });

    test('an attempt that contains no more than its request is not written, and is still returned', async (context) => {
      const store = await open(context);
      const request = requestRow({ at: 1_000, duration_ms: 50 });
      const fine = { at: 1_003, status: 200, error_class: null, duration_ms: 46, upstream_error_param: null };
      const same = attemptRow(fine);
      const kept = [
        [attemptRow({ ...fine, at: 1_020 })],
        [attemptRow({ ...fine, duration_ms: 30 })],
        [attemptRow({ ...fine, status: 201 })],
        [attemptRow({ ...fine, account: 'South' })],
        [attemptRow({ ...fine, cause: 'resend' })],
        [attemptRow({ ...fine, error_class: 'upstream_status' })],
        [same, attemptRow({ ...fine, ordinal: 1 })],
      ];
      for (const [n, attempts] of kept.entries()) {
        const id = `kept_${n}`;
        const own = attempts.map((attempt) => ({ ...attempt, request_id: id }));
        store.requests.append({ ...request, id }, own);
        await store.flush();
        assert.deepEqual(await store.attempts.of({ ...request, id }), own);
      }
      for (const bad of [{ status: 502, outcome: 'failed' }, { retries: 1 }, { outcome: 'cut' }, { account: null }] as const) {
        assert.deepEqual(await store.attempts.of({ ...request, id: 'lost', ...bad }), [], 'nothing is made up of what may have been lost');
      }
      const { written } = store.stats();
      store.requests.append(request, [same]);
      await store.flush();
      assert.equal(store.stats().written, written + 2, 'the request, and the sums of its hour');
      assert.deepEqual(await store.attempts.of(request), [{ ...same, at: 1_000, duration_ms: 50 }]);
    });

    test('an audit row is on disk when its promise resolves', async (context) => {
      const url = await adapter.fresh(context);
      const store = await open(context, url);
      await store.audit.record(auditEntry());
      const other = await open(context, url);
      assert.equal((await other.audit.list({})).length, 1);
    });

    test('of several states of one account and model the last one counts, and models do not mix', async (context) => {
      const store = await open(context);
      for (let streak = 0; streak < 300; streak++) store.accounts.patch(accountRow({ streak }));
      await store.flush();
      assert.equal(store.stats().written, 1);
      store.accounts.patch(accountRow({ streak: 1_000, health: 'failing', cooldown_until: 9_000, cause: 'rate_limit', windows: null }));
      store.accounts.patch(accountRow({ model: 'model-a', streak: 2 }));
      await store.flush();
      const states = await store.accounts.load();
      assert.deepEqual(new Map(states.map(({ model, streak }) => [model, streak])), new Map(Object.entries({ '': 1_000, 'model-a': 2 })));
    });

    test('a pin is found by its hash until it expires, and moves when put again', async (context) => {
      const store = await open(context);
      store.pins.put(pinRow());
      store.pins.put(pinRow({ hash: 'other', account: 'south' }));
      store.pins.put(pinRow({ hash: 'old', expires_at: NOW }));
      await store.flush();
      const { hash } = pinRow();
      assert.deepEqual(await store.pins.find(hash), pinRow());
      assert.equal(await store.pins.find('unknown'), undefined);
      assert.equal(await store.pins.find('old'), undefined);
      assert.equal((await store.pins.find('other'))?.account, 'south');
      store.pins.put(pinRow({ account: 'east', expires_at: 20_000 }));
      await store.flush();
      assert.equal((await store.pins.find(hash))?.account, 'east');
      assert.equal((await store.pins.load(10)).length, 2);
      assert.deepEqual(await store.pins.load(1), [pinRow({ account: 'east', expires_at: 20_000 })]);
    });

    test('a saved credential is on disk, and seen by another process, when its promise resolves', async (context) => {
      const url = await adapter.fresh(context);
      const store = await open(context, url);
      const other = await open(context, url);
      await store.credentials.save(credentialRow());
      await store.credentials.save(credentialRow({ sealed: null, updated_at: 2_000 }));
      await store.credentials.save(credentialRow({ account: 'south' }));
      assert.deepEqual(await other.credentials.find('north'), credentialRow({ sealed: null, updated_at: 2_000 }));
      assert.equal(await other.credentials.find('nobody'), undefined);
    });

    test('requests are filtered by every filter, alone and together', async (context) => {
      const store = await open(context);
      await fill(store, [
        requestRow({ id: 'a', at: 1, pool: 'team' }),
        requestRow({ id: 'b', at: 2, pool: 'other', account: 'South' }),
        requestRow({ id: 'c', at: 3, pool: null, account: null, model: null, status: 401, status_class: '4xx', code: 'invalid_api_key' }),
        requestRow({ id: 'd', at: 4, pool: 'team', model: 'model-b', key_id: 'other-key', family: 'v1', retries: 2, duration_ms: 9_000 }),
      ]);
      const found = async (filter: Parameters<Store['requests']['list']>[0]) => ids(await store.requests.list(filter)).join('');
      assert.equal(await found({}), 'dcba');
      assert.equal(await found({ id: 'b' }), 'b');
      assert.equal(await found({ pools: ['team', 'unroutable'] }), 'da');
      assert.equal(await found({ pools: [] }), '');
      assert.equal(await found({ pools: ['team'], id: 'b' }), '');
      assert.equal(await found({ account: 'South' }), 'b');
      assert.equal(await found({ model: 'model-b' }), 'd');
      assert.equal(await found({ status_class: '4xx' }), 'c');
      assert.equal(await found({ code: 'invalid_api_key' }), 'c');
      assert.equal(await found({ since: 3 }), 'dc');
      assert.equal(await found({ since: 2, until: 4 }), 'cb');
      assert.equal(await found({ key_id: 'other-key' }), 'd');
      assert.equal(await found({ key_id: 'ci', pools: ['team'] }), 'a');
      assert.equal(await found({ family: 'v1' }), 'd');
      assert.equal(await found({ status: 401 }), 'c');
      assert.equal(await found({ min_duration_ms: 9_000 }), 'd');
      assert.equal(await found({ min_duration_ms: 9_001 }), '');
      assert.equal(await found({ min_retries: 1 }), 'd');
      assert.equal(await found({ pools: ['team', 'other'], since: 2, limit: 1 }), 'd');
      assert.equal(await found({ pools: ['team', 'other'], since: 2, model: 'model-a' }), 'b');
    });

    test('pages neither repeat nor skip rows of the same millisecond, also when new ones arrive', async (context) => {
      const store = await open(context);
      const rows = Array.from({ length: 25 }, (_, n) => requestRow({ id: `req_${String(n).padStart(2, '0')}`, at: Math.floor(n / 10) }));
      await fill(store, rows);
      const seen: string[] = [];
      for (let page = await store.requests.list({ limit: 7 }); page.length > 0; ) {
        seen.push(...ids(page));
        await fill(store, [requestRow({ id: `new_${seen.length}`, at: 99 })]);
        page = await store.requests.list({ limit: 7, before: page.at(-1) });
      }
      assert.deepEqual(seen, ids(rows).reverse());
    });

    test('audit rows are filtered and paged alike', async (context) => {
      const store = await open(context);
      for (const [at, actor] of [...'abc'].entries())
        await store.audit.record(auditEntry({ at, actor, pool: actor === 'a' ? null : 'team' }));
      const actors = async (filter: Parameters<Store['audit']['list']>[0]) =>
        (await store.audit.list(filter)).map(({ actor }) => actor).join('');
      assert.equal(await actors({}), 'cba');
      assert.equal(await actors({ pools: ['team'] }), 'cb');
      assert.equal(await actors({ actor: 'b' }), 'b');
      assert.equal(await actors({ action: 'key.create' }), '');
      assert.equal(await actors({ target: 'team/model-a', before: (await store.audit.list({ limit: 1 }))[0] }), 'ba');
    });

    test('audit rows of accounts, which belong to no Pool, are listed for the Pools that name them', async (context) => {
      const store = await open(context);
      const entries = [
        { actor: 'a', pool: 'team' },
        { actor: 'b', pool: null, action: 'account.change', target: 'north' },
        { actor: 'c', pool: null, action: 'credential.import', target: 'north' },
        { actor: 'd', pool: null, action: 'account.change', target: 'south' },
        { actor: 'e', pool: null, action: 'operator.change', target: 'north' },
        { actor: 'f', pool: 'other', action: 'account.change', target: 'north' },
      ];
      for (const [at, entry] of entries.entries()) await store.audit.record(auditEntry({ at, ...entry }));
      const actors = async (filter: Parameters<Store['audit']['list']>[0]) =>
        (await store.audit.list(filter)).map(({ actor }) => actor).join('');
      assert.equal(await actors({ pools: ['team'], accounts: ['north'] }), 'cba');
      assert.equal(await actors({ pools: ['team'], accounts: [] }), 'a');
      assert.equal(await actors({ pools: [], accounts: ['north'] }), 'cb');
      assert.equal(await actors({ pools: ['team'], accounts: ['north'], action: 'account.change', until: 2 }), 'b');
    });

    test('usage is summed by key, Pool and day, filtered and paged', async (context) => {
      const store = await open(context);
      const day = 86_400_000;
      for (const [key_id, pool, on] of [
        ['ci', 'team', 1],
        ['ci', 'team', 2],
        ['ci', 'other', 2],
        ['web', 'team', 2],
      ] as const) {
        store.usage.add(usageRow({ key_id, pool, day: on * day, requests: 1, cost_nanos: 10 }));
      }
      await store.flush();
      type Filter = Parameters<Store['usage']['sums']>[0];
      const summed = async (filter: Filter) =>
        (await store.usage.sums(filter)).map(
          (sum) => `${sum.key_id} ${sum.pool} ${sum.day === null ? null : sum.day / day}: ${sum.requests}`,
        );
      assert.deepEqual(await summed({ by: [] }), ['null null null: 4']);
      assert.deepEqual(await summed({ by: ['key_id'] }), ['ci null null: 3', 'web null null: 1']);
      assert.deepEqual(await summed({ by: ['key_id'], pools: ['team'] }), ['ci null null: 2', 'web null null: 1']);
      assert.deepEqual(await summed({ by: ['pool'], key_ids: ['ci'] }), ['null other null: 1', 'null team null: 2']);
      assert.deepEqual(await summed({ by: ['day'], pools: ['team'] }), ['null null 2: 2', 'null null 1: 1']);
      assert.deepEqual(await summed({ by: ['day', 'key_id', 'pool'], since: 2 * day }), ['ci other 2: 1', 'ci team 2: 1', 'web team 2: 1']);
      assert.deepEqual(await summed({ by: ['key_id'], until: 2 * day }), ['ci null null: 1']);
      assert.deepEqual(await summed({ by: ['key_id'], limit: 1, offset: 1 }), ['web null null: 1']);
      assert.deepEqual(await summed({ by: ['key_id'], pools: [] }), []);
      assert.deepEqual(await summed({ by: [], pools: [] }), ['null null null: 0']);
      const [whole] = await store.usage.sums({ by: [] });
      const {
        key_id,
        pool,
        day: of,
        ...sums
      } = usageRow({ requests: 4, input_tokens: 4_000, cached_input_tokens: 2_000, output_tokens: 800, cost_nanos: 40 });
      assert.deepEqual(whole, { key_id: null, pool: null, day: null, ...sums });
      assert.deepEqual([key_id, pool, of], ['ci', 'team', day]);
    });

    test('hostile texts come back as they went in and are never read as SQL', async (context) => {
      const store = await open(context);
      const hostile = [
        `'); DROP TABLE requests; --`,
        '"; ? $1 :a @b',
        '\\u0000 \\ " \n\r\t',
        '%_[]',
        '🦄 é ‮ \u{10ffff}',
        '',
        'x'.repeat(100_000),
      ];
      await fill(
        store,
        hostile.map((text, n) => requestRow({ id: `req_${n}`, at: n, model: text, why: { reason: text, others: { [text]: 1 } } })),
      );
      for (const [n, text] of hostile.entries()) {
        const [row] = await store.requests.list({ model: text });
        assert.deepEqual(row, requestRow({ id: `req_${n}`, at: n, model: text, why: { reason: text, others: { [text]: 1 } } }));
      }
    });

    test('texts that no database can hold do not stop the rows around them', async (context) => {
      const store = await open(context);
      await fill(store, [
        requestRow({ id: 'a', model: 'nul\0nul' }),
        requestRow({ id: 'b', model: 'lone \ud800' }),
        requestRow({ id: 'c' }),
      ]);
      assert.equal((await store.requests.list({})).length, 3);
      assert.deepEqual(await store.requests.list({ id: 'c' }), [requestRow({ id: 'c' })]);
    });

    test('a text that is too long for an index does not stop the rows around it', async (context) => {
      const store = await open(context);
      const long = randomBytes(6_000).toString('base64');
      await fill(store, [requestRow({ id: 'a' }), requestRow({ id: 'b', model: long }), requestRow({ id: 'c' })]);
      assert.deepEqual(ids(await store.requests.list({ model: 'model-a' })), ['c', 'a']);
    });

    test('the first of two requests with one id stays, and the second spoils nothing', async (context) => {
      const store = await open(context);
      await fill(store, [requestRow(), requestRow({ status: 500 }), requestRow({ id: 'req_2' })]);
      await fill(store, [requestRow({ status: 502 })]);
      assert.deepEqual(ids(await store.requests.list({ status_class: '2xx' })), ['req_2', 'req_1']);
      assert.equal((await store.requests.list({ id: 'req_1' }))[0]?.status, 200);
    });

    test('purging removes what is older than the limits, in chunks, and nothing else', async (context) => {
      const store = await open(context);
      for (let at = 0; at < 1_203; at++) {
        store.requests.append(requestRow({ id: `req_${at}`, at }), [attemptRow({ request_id: `req_${at}`, at })]);
        store.pins.put(pinRow({ hash: String(at), expires_at: at }));
      }
      await store.audit.record(auditEntry({ at: 1 }));
      await store.flush();
      assert.deepEqual(await store.purge({}), { requests: 0, attempts: 0, audit: 0, pins: 0, usage: 0, files: 0 });
      assert.deepEqual(await store.purge({ requestsBefore: 1_200, pinsBefore: 1_000 }), {
        requests: 1_200,
        attempts: 1_200,
        audit: 0,
        pins: 1_000,
        usage: 0,
        files: 0,
      });
      assert.deepEqual(ids(await store.requests.list({})), ['req_1202', 'req_1201', 'req_1200']);
      assert.deepEqual(await store.purge({ auditBefore: 2 }), { requests: 0, attempts: 0, audit: 1, pins: 0, usage: 0, files: 0 });
    });

    test('[S5] a log past its size loses its oldest rows with their attempts, and new rows use their space', async (context) => {
      const store = await open(context);
      let made = 0;
      const write = async (): Promise<void> => {
        for (let n = 0; n < 2_000; n++, made++) {
          const request_id = `req_${10_000 + made}`;
          store.requests.append(requestRow({ id: request_id, at: made, retries: 1 }), [
            attemptRow({ request_id, at: made, cause: 'resend' }),
          ]);
        }
        await store.flush();
      };
      await write();
      assert.equal(await store.trimLog(2 ** 30), 0);
      // The statistics of a server are some seconds late, and each query reads a part of the log.
      const first = await until('deleted rows', async () => (await store.trimLog(400_000)) || undefined, PATIENCE_MS, 500);
      assert.ok(first > 100 && first < 2_000, `${first} of 2,000 rows were deleted`);
      assert.equal((await store.requests.list({ id: `req_${9_999 + first}` })).length, 0);
      const [oldest] = await store.requests.list({ id: `req_${10_000 + first}` });
      assert.ok(oldest, 'no more than those');
      assert.equal((await store.attempts.of(oldest)).length, 1);
      assert.deepEqual(await store.attempts.of({ ...oldest, id: `req_${9_999 + first}` }), []);
    });

    test('a file belongs to one Pool, is replaced by a later row, and ends with its expiry', async (context) => {
      const store = await open(context);
      const expired = fileRow({ id: 'file_2', expires_at: 1 });
      await Promise.all([fileRow(), fileRow({ pool: 'other', account: 'south' }), expired].map((row) => store.files.save(row)));
      await store.files.save(fileRow({ status: 'error' }));
      assert.deepEqual(await store.files.find('team', 'file_1'), fileRow({ status: 'error' }));
      assert.equal((await store.files.find('other', 'file_1'))?.account, 'south');
      assert.equal(await store.files.find('team', 'file_2'), undefined);
      assert.equal(await store.files.find('third', 'file_1'), undefined);
      assert.equal((await store.purge({ filesBefore: 2 })).files, 1, 'a file without an expiry stays');
      assert.ok(await store.files.find('team', 'file_1'));
    });

    test('pages of files neither repeat nor skip any, in both orders', async (context) => {
      const store = await open(context);
      const rows = Array.from({ length: 11 }, (_, n) =>
        fileRow({ id: `file_${String(n).padStart(2, '0')}`, created_at: Math.floor(n / 4) }),
      );
      await Promise.all(rows.map((row) => store.files.save(row)));
      await store.files.save(fileRow({ id: 'file_99', pool: 'other' }));
      await store.files.save(fileRow({ id: 'file_98', purpose: 'vision', expires_at: 1 }));
      for (const order of ['desc', 'asc'] as const) {
        const seen: string[] = [];
        let last: { at: number; id: string } | undefined;
        for (;;) {
          const page = await store.files.list({ pool: 'team', order, after: last, limit: 3 });
          seen.push(...ids(page));
          const end = page.at(-1);
          if (!end) break;
          last = { at: end.created_at, id: end.id };
        }
        assert.deepEqual(seen, order === 'asc' ? ids(rows) : ids(rows).reverse());
      }
      assert.deepEqual(await store.files.list({ pool: 'team', purpose: 'vision', limit: 3 }), []);
    });

    test('usage of one key, Pool and day adds up, both on disk and waiting to be written', async (context) => {
      const store = await open(context);
      for (let turn = 0; turn < 250; turn++) {
        store.usage.add(usageRow({ requests: 1, input_tokens: 10, cost_nanos: 7 }));
        if (turn % 60 === 0) await store.flush();
      }
      store.usage.add(usageRow({ key_id: 'other', unknown: 1, held_tokens: 5 }));
      store.usage.add(usageRow({ pool: 'other' }));
      store.usage.add(usageRow({ day: 0 }));
      await store.flush();
      const byKey = (rows: Awaited<ReturnType<Store['usage']['load']>>) =>
        rows.map(({ key_id, pool, day }) => `${key_id} ${pool} ${day}`).sort();
      const rows = await store.usage.load(0);
      assert.deepEqual(byKey(rows), ['ci other 86400000', 'ci team 0', 'ci team 86400000', 'other team 86400000']);
      const sum = rows.find((row) => row.key_id === 'ci' && row.pool === 'team' && row.day > 0);
      assert.deepEqual(
        sum,
        usageRow({ requests: 250, input_tokens: 2_500, cached_input_tokens: 125_000, output_tokens: 50_000, cost_nanos: 1_750 }),
      );
      assert.deepEqual(byKey(await store.usage.load(1)), ['ci other 86400000', 'ci team 86400000', 'other team 86400000']);
      assert.equal((await store.purge({ usageBefore: 86_400_000 })).usage, 1);
      assert.equal((await store.usage.load(0)).length, 3);
    });

    test('a sum that is too large to be exact does not make the rows beside it unreadable', async (context) => {
      const store = await open(context);
      for (let turn = 0; turn < 4; turn++) {
        store.usage.add(usageRow({ key_id: 'large', cost_nanos: 6e15 }));
        await store.flush();
      }
      store.usage.add(usageRow());
      await store.flush();
      const costs = (await store.usage.load(0)).map(({ key_id, cost_nanos }) => [key_id, cost_nanos]);
      assert.deepEqual(costs.toSorted(), [
        ['ci', usageRow().cost_nanos],
        ['large', Number.MAX_SAFE_INTEGER],
      ]);
      assert.equal((await store.usage.sums({ by: [] }))[0]?.cost_nanos, Number.MAX_SAFE_INTEGER);
    });

    test('writing, reading and purging at once lose nothing', async (context) => {
      const store = await open(context);
      await fill(
        store,
        Array.from({ length: 1_000 }, (_, n) => requestRow({ id: `old_${n}`, at: 1 })),
      );
      const work: Promise<unknown>[] = [store.purge({ requestsBefore: 2 })];
      for (let n = 0; n < 1_000; n++) {
        store.requests.append(requestRow({ id: `new_${n}`, at: 3 }));
        if (n % 100 === 0) work.push(store.flush(), store.requests.list({}), store.audit.record(auditEntry()));
      }
      await Promise.all(work);
      await store.flush();
      assert.equal((await store.requests.list({ limit: 10_000 })).length, 1_000);
      assert.equal((await store.audit.list({})).length, 10);
      assert.deepEqual(
        { ...store.stats(), written: 0 },
        { queued: 0, written: 0, dropped: 0, rejected: 0, failures: 0, last_error: null, failing_since: null },
      );
    });

    test('a closed store takes no more rows, counts them, and may be closed again', async (context) => {
      const store = await open(context);
      store.requests.append(requestRow());
      await Promise.all([store.close(), store.flush(), store.close()]);
      assert.equal(store.stats().written, 2);
      store.requests.append(requestRow({ id: 'late' }));
      assert.equal(store.stats().dropped, 2);
      await assert.rejects(store.audit.record(auditEntry()), (error) => error instanceof StoreError && error.code === 'closed');
    });
  });
}
