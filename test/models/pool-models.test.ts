// The models of a Pool: cohorts, candidates, and what is known, listed, suppressed or gone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { account, answer, assignment, entry, world } from './support.ts';

const SMALL = { context_window: 128000, max_context_window: 128000 };
const LARGE = { context_window: 872000, max_context_window: 872000 };
const from = (name: string, fields: object = {}): readonly unknown[] => [entry('model-a', { display_name: name, ...fields })];
const speaker = (models: ReturnType<typeof world>['models']): unknown => models.find('model-a')?.entry.display_name;

test('[MC3] the cohort with most routable members is canonical, and its first member gives the entry', () => {
  const { models, health } = world({ a: from('a'), b: from('b', SMALL), c: from('c', SMALL) });
  assert.equal(speaker(models), 'b');
  health.down = ['b'];
  // Each cohort has one routable member: the larger one is chosen, and its first member gives the entry although it is not routable.
  assert.equal(speaker(models), 'b');
  health.down = ['b', 'c'];
  assert.equal(speaker(models), 'a');
});

test('[MC3] a tie goes to the first in configuration order', () => {
  const read = { a: from('a'), b: from('b', SMALL) };
  assert.equal(speaker(world(read).models), 'a');
  assert.equal(speaker(world(read, { pool: { assignments: [assignment('b'), assignment('a')] } }).models), 'b');
});

const DIFFERENT: readonly Readonly<Record<string, unknown>>[] = [
  { context_window: 200000 },
  { max_context_window: 300000 },
  { effective_context_window_percent: 90 },
  { auto_compact_token_limit: 9000 },
  { comp_hash: 'x' },
];

for (const fields of DIFFERENT) {
  test(`[MC3] another ${Object.keys(fields)[0]} is another cohort`, () => {
    const { models } = world({ a: from('a', fields), b: from('b'), c: from('c') });
    assert.equal(speaker(models), 'b');
    assert.deepEqual(models.candidates('model-a').preferred, ['b', 'c']);
  });
}

test('[MC6] only ceilings separate cohorts, not the serving mode or other fields', () => {
  const { models } = world({ a: from('a', { use_responses_lite: true, priority: 9 }), b: from('b', { supported_reasoning_levels: [] }) });
  assert.deepEqual(models.candidates('model-a').preferred, ['a', 'b']);
});

test('[MC3] an explicit default percent is the default percent', () => {
  const { models } = world({ a: from('a', { effective_context_window_percent: undefined }), b: from('b') });
  assert.deepEqual(models.candidates('model-a').preferred, ['a', 'b']);
});

test('selection prefers the cohort and overflows to sources whose window is no smaller', () => {
  const read = { a: from('a'), b: from('b'), small: from('small', SMALL), large: from('large', LARGE), mute: [{ id: 'model-a' }] };
  const { models, health } = world(read);
  assert.deepEqual(models.candidates('model-a'), { preferred: ['a', 'b'], overflow: ['large'] });
  health.down = ['a', 'b', 'large', 'mute'];
  assert.deepEqual(models.candidates('model-a'), { preferred: ['small'], overflow: ['a', 'b', 'large'] });
  health.down = ['a', 'b', 'small', 'large'];
  assert.deepEqual(models.candidates('model-a'), { preferred: ['mute'], overflow: ['a', 'b', 'small', 'large'] });
});

test('an operator’s smaller window lets more sources overflow, a larger one no fewer', () => {
  const read = { a: from('a'), b: from('b'), small: from('small', SMALL), large: from('large', LARGE) };
  const overflow = (context_window: number): readonly string[] =>
    world(read, { pool: { models: { 'model-a': { context_window, suppressed: false } } } }).models.candidates('model-a').overflow;
  assert.deepEqual([overflow(100000), overflow(200000), overflow(900000)], [['small', 'large'], ['large'], ['large']]);
});

test('candidates leave out inactive, ineligible and invisible sources, and ignore health', () => {
  const { models, health } = world(
    { a: from('a'), b: from('b'), c: from('c'), d: from('d') },
    {
      accounts: { c: { visible: false } },
      pool: { assignments: [assignment('a', { active: false }), assignment('b', { eligible: false }), assignment('c'), assignment('d')] },
    },
  );
  health.down = ['d'];
  assert.deepEqual(models.candidates('model-a'), { preferred: ['d'], overflow: [] });
});

test('[SM5] a model whose sources are all unroutable is known, and not listed', () => {
  const { models, health } = world({ a: from('a') });
  health.down = ['a'];
  assert.deepEqual(
    [models.find('model-a')?.routable, models.find('model-a')?.mode, models.presence('model-a')],
    [false, undefined, 'unroutable'],
  );
  assert.deepEqual(models.listed().models, []);
});

test('a model that only invisible accounts list is known with their entry', () => {
  const { models } = world({ a: from('a') }, { accounts: { a: { visible: false } } });
  assert.deepEqual([speaker(models), models.find('model-a')?.routable, models.presence('model-a')], ['a', false, 'invisible']);
});

test('[MC3] an invisible source does not count while there is a visible one', () => {
  const { models, health } = world(
    { a: from('a', LARGE), b: from('b', LARGE), c: from('c') },
    { accounts: { a: { visible: false }, b: { visible: false } } },
  );
  assert.equal(speaker(models), 'c');
  health.down = ['c'];
  assert.equal(speaker(models), 'c');
});

test('[PL5] a suppressed model is unknown to turns and lists, and keeps its mode for its return', () => {
  const pool = { serving_modes: { 'model-a': 'lite' }, models: { 'model-a': { suppressed: true } } } as const;
  const gone = world({ a: from('a') }, { pool }).models;
  assert.deepEqual([gone.find('model-a'), gone.presence('model-a'), gone.listed().models.length], [undefined, 'suppressed', 0]);
  assert.deepEqual(gone.candidates('model-a'), { preferred: [], overflow: [] });
  const back = world({ a: from('a') }, { pool: { ...pool, models: { 'model-a': { suppressed: false } } } }).models;
  assert.equal(back.find('model-a')?.mode?.configured, 'lite');
});

test('[PL5] a model that its provider retired is unknown, and keeps its mode for its return', () => {
  const { models, accounts } = world({ a: from('a') }, { pool: { serving_modes: { 'model-a': 'lite' } } });
  answer(accounts, 'a', [entry('model-b')]);
  assert.deepEqual([models.find('model-a'), models.presence('model-a')], [undefined, 'absent']);
  answer(accounts, 'a', from('a'));
  assert.equal(models.find('model-a')?.mode?.effective, 'lite');
});

test('names that every object has as members are unknown models', () => {
  const { models } = world({ a: from('a') });
  for (const id of ['constructor', '__proto__', 'toString', ''])
    assert.deepEqual([models.find(id), models.presence(id)], [undefined, 'absent']);
});

test('the list keeps the order of the first visible source, then of the others', () => {
  const read = { a: [entry('m3'), entry('m1')], b: [entry('m2'), entry('m1'), entry('m4')], c: [entry('m0')] };
  const ids = (options: Parameters<typeof world>[1]): readonly string[] =>
    world(read, options)
      .models.listed()
      .models.map(({ view }) => view.id);
  assert.deepEqual(ids({}), ['m3', 'm1', 'm2', 'm4', 'm0']);
  assert.deepEqual(ids({ accounts: { a: { visible: false } } }), ['m2', 'm1', 'm4', 'm0']);
  assert.deepEqual(ids({ pool: { assignments: [assignment('b'), assignment('a')] } }), ['m2', 'm1', 'm4', 'm3']);
});

test('a turn finds the same object until something in it changes', () => {
  const { models, health, accounts } = world({ a: from('a'), b: from('b') });
  const found = models.find('model-a');
  const { version } = models.listed();
  health.down = ['b'];
  assert.equal(models.find('model-a'), found);
  assert.equal(models.listed().version, version);
  answer(accounts, 'b', from('b'));
  assert.equal(models.find('model-a'), found);
  accounts.configure([account('a', { visible: false }), account('b')]);
  assert.equal(speaker(models), 'b');
  assert.notEqual(models.listed().version, version);
});
