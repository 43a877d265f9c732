// When accounts are read, and which entries stay after a failed read; all clocks here are manual.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AccountCatalogStatus } from '../../../proxy/models/catalog/account-catalog.ts';
import { Catalog } from '../../../proxy/models/catalog/catalog.ts';
import { ModelDirectory } from '../../../proxy/models/model-directory.ts';
import type { CatalogAnswer } from '../../../proxy/turn/provider/reads.ts';
import type { AccountConfig } from '../../../proxy/turn/settings.ts';
import type { CatalogRow } from '../../../store/schema/rows.ts';
import { ManualClock, settled } from '../../support/clocks/manual-clock.ts';
import { KEY, POOL } from '../../support/turns/turn.ts';
import { account, assignment, entriesOf, entry, Health, LIST_POLICY } from '../support.ts';

const good = (...ids: readonly string[]): CatalogAnswer => ({ status: 200, bytes: 2, body: { models: ids.map((id) => entry(id)) } });

/** A catalog over accounts that answer from `answers`; a read of an account without an answer stays in `hanging`. */
function setUp(rows: readonly CatalogRow[] = []) {
  const clock = new ManualClock();
  const health = new Health();
  const answers = new Map<string, CatalogAnswer | Error>();
  const reads: string[] = [];
  const hanging: { readonly id: string; readonly resolve: (answer: CatalogAnswer) => void }[] = [];
  const saved: CatalogRow[] = [];
  const observed: AccountCatalogStatus[] = [];
  const catalog = new Catalog({
    clock,
    read: async (id) => {
      reads.push(id);
      const answer = answers.get(id);
      if (answer instanceof Error) throw answer;
      return answer ?? new Promise((resolve) => hanging.push({ id, resolve }));
    },
    store: { load: async () => rows, save: (row) => saved.push(row) },
    observe: (status) => observed.push(status),
  });
  const pool = { ...POOL, assignments: [assignment('a'), assignment('b')] };
  const directory = new ModelDirectory(catalog, health, LIST_POLICY);
  const known = (id: string): readonly string[] => [...(catalog.accounts.get(id)?.models.keys() ?? [])];
  return { clock, health, answers, reads, hanging, saved, observed, catalog, directory, pool, known };
}

const started = async (accounts: readonly AccountConfig[], answers: Readonly<Record<string, CatalogAnswer | Error>>) => {
  const all = setUp();
  for (const [id, answer] of Object.entries(answers)) all.answers.set(id, answer);
  await all.catalog.start(accounts);
  await all.catalog.whenReady;
  const assignments = all.pool.assignments.filter(({ account: id }) => accounts.some((one) => one.id === id));
  return { ...all, pool: { ...all.pool, assignments } };
};

test('at the start every visible account is read once, and readiness waits for the refresh', async () => {
  const { catalog, hanging, reads, known } = setUp();
  await catalog.start([account('a'), account('b'), account('hidden', { visible: false })]);
  assert.deepEqual([reads, catalog.ready], [['a', 'b'], false]);
  hanging[0]?.resolve(good('model-a'));
  await settled();
  assert.deepEqual([known('a'), catalog.ready], [['model-a'], false]);
  hanging[1]?.resolve(good('model-b'));
  await catalog.whenReady;
  assert.equal(catalog.ready, true);
});

test('readiness waits at most 10 s', async () => {
  const { catalog, clock } = setUp();
  await catalog.start([account('a')]);
  await clock.advance(9_999);
  assert.equal(catalog.ready, false);
  await clock.advance(1);
  assert.equal(catalog.ready, true);
});

test('a gateway without accounts is ready at once', async () => {
  const { catalog } = setUp();
  await catalog.start([]);
  await catalog.whenReady;
  assert.equal(catalog.ready, true);
});

test('accounts are read again every 30 minutes', async () => {
  const { clock, reads, catalog } = await started([account('a')], { a: good('model-a') });
  await clock.advance(30 * 60_000 - 1);
  assert.equal(reads.length, 1);
  await clock.advance(1);
  assert.equal(reads.length, 2);
  await clock.advance(60 * 60_000);
  assert.equal(reads.length, 4);
  catalog.stop();
  await clock.advance(60 * 60_000);
  assert.deepEqual([reads.length, clock.pending], [4, 0]);
});

const FAILURES: readonly (readonly [string, CatalogAnswer | Error | 'silence', string, number | undefined])[] = [
  ['the network', new Error('ECONNREFUSED'), 'network', undefined],
  ['a 500', { status: 500, bytes: 2, body: { models: [] } }, 'status', 500],
  ['a 401', { status: 401, bytes: 2, body: {} }, 'status', 401],
  ['a redirect', { status: 302, bytes: 2, body: '' }, 'status', 302],
  ['no list', { status: 200, bytes: 2, body: '<html>' }, 'malformed', 200],
  ['bad entries only', { status: 200, bytes: 2, body: [{ slug: 7 }] }, 'malformed', 200],
  ['silence', 'silence', 'timeout', undefined],
];

for (const [name, answer, failure, failureStatus] of FAILURES) {
  test(`a read that fails by ${name} keeps the last good entries, as stale`, async () => {
    const { clock, answers, known, catalog, observed } = await started([account('a')], { a: good('model-a') });
    if (answer === 'silence') answers.delete('a');
    else answers.set('a', answer);
    const { version } = catalog.accounts;
    await clock.advance(30 * 60_000 + 30_000);
    const status = catalog.accounts.status()[0];
    assert.deepEqual(known('a'), ['model-a']);
    assert.deepEqual(
      [status?.stale, status?.failure, status?.failureStatus, status?.reads, status?.failures],
      [true, failure, failureStatus, 2, 1],
    );
    assert.equal(catalog.accounts.version, version);
    answers.set('a', good('model-b'));
    await clock.advance(60_000);
    assert.deepEqual(
      [known('a'), catalog.accounts.status()[0]?.stale, catalog.accounts.status()[0]?.failure],
      [['model-b'], false, undefined],
    );
    assert.deepEqual(
      observed.map((each) => each.failure),
      [undefined, failure, undefined],
    );
  });
}

test('only failed reads are repeated, after a minute and then after twice the time, until the account answers', async () => {
  const { clock, answers, reads, known } = await started([account('a'), account('b')], { a: new Error('reset'), b: good('model-b') });
  const repeated = async (minutes: number): Promise<readonly string[]> => {
    reads.length = 0;
    await clock.advance(minutes * 60_000);
    return [...reads];
  };
  assert.deepEqual([await repeated(0.9), await repeated(0.1)].flat(), ['a']);
  assert.deepEqual([await repeated(1.9), await repeated(0.1)].flat(), ['a']);
  answers.set('a', good('model-a'));
  assert.deepEqual(await repeated(4), ['a']);
  assert.deepEqual(known('a'), ['model-a']);
  // This is 30 minutes after the start.
  assert.deepEqual([...(await repeated(22.9)), ...(await repeated(0.1))], ['a', 'b']);
});

test('a reload ends the repetitions of a failed read and begins others', async () => {
  const { catalog, clock, reads } = await started([account('a')], { a: new Error('reset') });
  await clock.advance(30_000);
  await catalog.reload([account('a')]);
  await clock.advance(59_000);
  assert.equal(reads.length, 2);
  await clock.advance(1_000);
  assert.equal(reads.length, 3);
  catalog.stop();
  assert.equal(clock.pending, 0);
});

test('an answer after its deadline is ignored', async () => {
  const { clock, catalog, hanging, known } = setUp();
  await catalog.start([account('a')]);
  await clock.advance(30_000);
  hanging[0]?.resolve(good('model-late'));
  await settled();
  assert.deepEqual([known('a'), catalog.accounts.status()[0]?.failure], [[], 'timeout']);
});

test('good entries are stored as received, once for each change', async () => {
  const { clock, answers, saved } = await started([account('a', { models: { outer: 'inner' } })], { a: { ...good('inner'), etag: '"1"' } });
  await clock.advance(30 * 60_000);
  assert.equal(saved.length, 1);
  assert.deepEqual([saved[0]?.account, saved[0]?.etag, JSON.parse(saved[0]?.entries ?? '')], ['a', '"1"', [entry('inner')]]);
  answers.set('a', good('inner', 'model-b'));
  await clock.advance(30 * 60_000);
  assert.deepEqual([saved.length, saved[1]?.etag, saved[1]?.read_at], [2, null, clock.now()]);
});

const row = (id: string, entries: unknown): CatalogRow => ({ account: id, entries: JSON.stringify(entries), etag: null, read_at: 5 });

test('after a restart the lists come from the stored entries under the current exposed names', async () => {
  const { catalog, directory, pool } = setUp([row('a', [entry('inner')]), row('b', '{'), row('gone', [entry('model-g')])]);
  await catalog.start([account('a', { models: { outer: 'inner' } }), account('b')]);
  assert.deepEqual(
    entriesOf(directory.backendList(pool, KEY).body).map(({ slug }) => slug),
    ['outer'],
  );
  assert.equal(JSON.parse(directory.publicList(pool, KEY).body).data[0].id, 'outer');
  assert.deepEqual([catalog.accounts.status()[0]?.stale, catalog.accounts.status()[0]?.readAt, catalog.ready], [true, 5, false]);
});

test('a store that fails does not prevent the start', async () => {
  const { catalog } = setUp();
  const broken = new Catalog({
    clock: new ManualClock(),
    read: async () => good('model-a'),
    store: { load: () => Promise.reject(new Error('disk')), save: () => undefined },
  });
  await broken.start([account('a')]);
  await broken.whenReady;
  assert.deepEqual([...(broken.accounts.get('a')?.models.keys() ?? [])], ['model-a']);
  catalog.stop();
});

test('an account that becomes invisible is not read, and its entries stay as stale', async () => {
  const { catalog, reads, known, clock } = await started([account('a')], { a: good('model-a') });
  await catalog.reload([account('a', { visible: false })]);
  await clock.advance(30 * 60_000);
  assert.deepEqual([reads.length, known('a'), catalog.accounts.status()[0]?.stale], [1, ['model-a'], true]);
  await catalog.reload([account('a')]);
  assert.deepEqual([reads.length, catalog.accounts.status()[0]?.stale], [2, false]);
});

test('a reload reads every account, adds and removes accounts, and renames models at once', async () => {
  const { catalog, reads, known, answers } = await started([account('a'), account('b')], { a: good('model-a'), b: good('model-b') });
  answers.set('c', good('model-c'));
  const reloaded = catalog.reload([account('a', { models: { outer: 'model-a' } }), account('c')]);
  assert.deepEqual([known('a'), known('b'), known('c')], [['outer'], [], []]);
  await reloaded;
  assert.deepEqual([known('a'), known('c'), reads], [['outer'], ['model-c'], ['a', 'b', 'a', 'c']]);
});

test('a reload during a refresh reads again and ignores the results of the cancelled refresh', async () => {
  const { catalog, hanging, known } = setUp();
  await catalog.start([account('a')]);
  const reloaded = catalog.reload([account('a', { base_url: 'https://other.example' })]);
  hanging[1]?.resolve(good('model-new'));
  await reloaded;
  hanging[0]?.resolve(good('model-old'));
  await settled();
  assert.deepEqual([known('a'), catalog.ready], [['model-new'], true]);
});

test('stored entries that load after a read are ignored', async () => {
  const clock = new ManualClock();
  const load = Promise.withResolvers<readonly CatalogRow[]>();
  const catalog = new Catalog({ clock, read: async () => good('model-new'), store: { load: () => load.promise, save: () => undefined } });
  const started = catalog.start([account('a')]);
  await catalog.reload([account('a')]);
  load.resolve([row('a', [entry('model-old')])]);
  await started;
  assert.deepEqual([...(catalog.accounts.get('a')?.models.keys() ?? [])], ['model-new']);
});

test('the next refresh is due 30 minutes after the last one, once', async () => {
  const { catalog, directory, pool, clock, reads } = await started([account('a')], { a: good('model-a') });
  await clock.advance(20 * 60_000);
  await directory.find(pool, 'model-x');
  await clock.advance(5 * 60_000);
  await catalog.reload([account('a')]);
  assert.equal(clock.pending, 1);
  await clock.advance(30 * 60_000 - 1);
  assert.equal(reads.length, 3);
  await clock.advance(1);
  assert.equal(reads.length, 4);
});

test('at most 32 accounts are read at once', async () => {
  const { catalog, hanging, reads } = setUp();
  await catalog.start(Array.from({ length: 40 }, (_, index) => account(`a${index}`)));
  assert.equal(reads.length, 32);
  for (const read of hanging.splice(0)) read.resolve(good());
  await settled();
  assert.equal(reads.length, 40);
});

test('a turn for an unknown model reads the accounts, once for all turns that ask during the refresh', async () => {
  const { directory, pool, reads, answers, hanging } = await started([account('a'), account('b')], {
    a: good('model-a'),
    b: good('model-b'),
  });
  answers.clear();
  const asked = ['model-new', 'model-new', 'model-none'].map((id) => directory.find(pool, id));
  assert.equal(reads.length, 4);
  assert.ok(asked.every((each) => each instanceof Promise));
  hanging.at(-1)?.resolve(good('model-b', 'model-new'));
  assert.deepEqual(await Promise.all(asked.slice(0, 2).map(async (each) => (await each)?.id)), ['model-new', 'model-new']);
  hanging.at(-2)?.resolve(good('model-a'));
  assert.equal(await asked[2], undefined);
});

test('known, suppressed and unroutable models cause no read', async () => {
  const { directory, pool, reads, health } = await started([account('a')], { a: good('model-a', 'model-s') });
  health.down = ['a'];
  assert.equal((directory.find(pool, 'model-a') as { routable: boolean }).routable, false);
  const suppressing = { ...pool, models: { 'model-s': { suppressed: true }, 'model-t': { suppressed: true } } };
  assert.deepEqual(
    [directory.find(suppressing, 'model-s'), directory.find(suppressing, 'model-t'), reads.length],
    [undefined, undefined, 1],
  );
});

test('unknown models cause at most one refresh a minute, not counting the one at the start', async () => {
  const { directory, pool, reads, clock } = await started([account('a')], { a: good('model-a') });
  assert.equal(await directory.find(pool, 'model-x'), undefined);
  assert.equal(reads.length, 2);
  assert.equal(directory.find(pool, 'model-x'), undefined, 'answered at once, without a promise');
  await clock.advance(59_999);
  assert.equal(directory.find(pool, 'model-y'), undefined);
  await clock.advance(1);
  assert.ok(directory.find(pool, 'model-y') instanceof Promise);
  await settled();
  assert.equal(reads.length, 3);
});

test('during the start a turn waits for the running refresh, which does not count for the minute', async () => {
  const { catalog, directory, pool, hanging, reads } = setUp();
  await catalog.start([account('a'), account('b')]);
  const asked = directory.find(pool, 'model-a');
  hanging[0]?.resolve(good('model-a'));
  assert.equal((await asked)?.id, 'model-a', 'does not wait for the other account');
  hanging[1]?.resolve(good());
  await settled();
  assert.ok(directory.find(pool, 'model-x') instanceof Promise);
  assert.equal(reads.length, 4);
});

test('a turn for an unknown model waits at most 10 s', async () => {
  const { directory, pool, answers, clock } = await started([account('a')], { a: good('model-a') });
  answers.clear();
  let answered = false;
  const asked = Promise.resolve(directory.find(pool, 'model-x')).then((view) => {
    answered = true;
    return view;
  });
  await clock.advance(9_999);
  assert.equal(answered, false);
  await clock.advance(1);
  assert.equal(await asked, undefined);
});

test('a model that only accounts outside the Pool list is unknown to the Pool', async () => {
  const { directory, pool } = await started([account('a'), account('other')], { a: good('model-a'), other: good('model-o') });
  assert.equal(await directory.find(pool, 'model-o'), undefined);
  assert.equal(directory.presence(pool, 'model-o'), 'absent');
});

test('a model that no account lists is not unknown to a turn of an earlier configuration, one of whose accounts is gone', async () => {
  const { directory, pool, catalog, answers, reads } = await started([account('a'), account('b')], {
    a: good('model-a'),
    b: good('model-b'),
  });
  answers.set('c', good('model-c'));
  await catalog.reload([account('a'), account('c')]);
  assert.equal((await directory.find(pool, 'model-a'))?.id, 'model-a');
  const before = reads.length;
  assert.throws(() => directory.find(pool, 'model-b'), { code: 'no_eligible_account', headers: { 'retry-after': '1' } });
  assert.equal(reads.length, before);
});

test('a turn with an earlier configuration keeps the models of its Pool', async () => {
  const { directory, pool, catalog } = await started([account('a')], { a: good('model-a') });
  const next = { ...pool, serving_modes: { 'model-a': 'lite' as const } };
  await catalog.reload([account('a')]);
  const modeIn = (each: typeof pool): string | undefined =>
    (directory.find(each, 'model-a') as { mode?: { effective: string } }).mode?.effective;
  assert.deepEqual([modeIn(pool), modeIn(next)], ['full', 'lite']);
  assert.notEqual(directory.etag(pool, KEY), directory.etag(next, KEY));
  assert.deepEqual(directory.candidates(next, 'model-a'), { preferred: ['a'], overflow: [] });
});
