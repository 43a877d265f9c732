// The entries that are taken from a provider's catalog answer, and those that are left out.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseCatalog } from '../../../proxy/models/catalog/catalog-parser.ts';
import { exposedEntries } from '../../../proxy/models/catalog/model-names.ts';
import { entry } from '../support.ts';

const ids = (body: unknown): readonly string[] | undefined => parseCatalog(body)?.entries.map(({ id }) => id);

test('the three shapes of a catalog answer are understood', () => {
  const list = [entry('model-a'), { id: 'model-b', object: 'model' }];
  for (const body of [{ models: list }, { object: 'list', data: list }, list]) assert.deepEqual(ids(body), ['model-a', 'model-b']);
});

test('an answer without a list, or with invalid entries only, is undefined', () => {
  for (const body of [undefined, null, '', 'models', 7, {}, { models: 'x' }, { error: {} }, [null], { models: [{}, { slug: '' }] }]) {
    assert.equal(parseCatalog(body), undefined, JSON.stringify(body));
  }
});

test('an empty list is an account without models', () => {
  assert.deepEqual(parseCatalog({ models: [] }), { entries: [], leftOut: 0, duplicates: 0 });
});

const parsed = (text: string): unknown => JSON.parse(text);
const nested = (depth: number): unknown => (depth === 0 ? {} : { deeper: nested(depth - 1) });

const BAD: readonly (readonly [string, unknown])[] = [
  ['null', null],
  ['a string', 'model-x'],
  ['a list', [entry('model-x')]],
  ['no id', { display_name: 'x' }],
  ['a number as id', { slug: 7 }],
  ['a number as slug beside an id', { slug: 7, id: 'model-x' }],
  ['an empty id', { slug: '' }],
  ['an id with a line break', { slug: 'model\nx' }],
  ['an id of spaces', { slug: '   ' }],
  ['an endless id', { slug: 'x'.repeat(201) }],
  ['an id that every object answers to', { slug: 'constructor' }],
  ['__proto__ as id', { slug: '__proto__' }],
  ['__proto__ as member', parsed('{"slug": "model-x", "__proto__": {"context_window": 1}}')],
  ['__proto__ as nested member', parsed('{"slug": "model-x", "extra": [{"__proto__": null}]}')],
  ['a window as string', entry('model-x', { context_window: '272000' })],
  ['a window with a fraction', entry('model-x', { context_window: 272000.5 })],
  ['a window of zero', entry('model-x', { context_window: 0 })],
  ['a negative maximum', entry('model-x', { max_context_window: -1 })],
  ['a maximum as boolean', entry('model-x', { max_context_window: true })],
  ['a compaction limit as list', entry('model-x', { auto_compact_token_limit: [9000] })],
  ['a percent as string', entry('model-x', { effective_context_window_percent: '95' })],
  ['a percent of zero', entry('model-x', { effective_context_window_percent: 0 })],
  ['a percent above 100', entry('model-x', { effective_context_window_percent: 101 })],
  ['a number that is infinite in memory', parsed('{"slug": "model-x", "extra": 1e400}')],
  ['a lone surrogate', parsed('{"slug": "model-x", "description": "\\ud800"}')],
  ['a bottomless entry', { slug: 'model-x', extra: nested(40) }],
  ['an entry of a million values', { slug: 'model-x', extra: new Array(60_000).fill(0) }],
  ['an entry of megabytes', { slug: 'model-x', base_instructions: 'x'.repeat(1_100_000) }],
];

for (const [name, bad] of BAD) {
  test(`only the invalid entry is left out: ${name}`, () => {
    const answer = parseCatalog({ models: [entry('model-a'), bad, entry('model-b')] });
    assert.deepEqual(
      answer?.entries.map(({ id }) => id),
      ['model-a', 'model-b'],
    );
    assert.equal(answer?.leftOut, 1);
  });
}

test('the first of two entries with one id counts', () => {
  const answer = parseCatalog([entry('model-a', { priority: 1 }), entry('model-a', { priority: 2 })]);
  assert.deepEqual([answer?.entries[0]?.fields.priority, answer?.entries.length, answer?.duplicates, answer?.leftOut], [1, 1, 1, 0]);
});

test('a list beyond the limit is read up to the limit', () => {
  const answer = parseCatalog(Array.from({ length: 2_500 }, (_, index) => ({ id: `model-${index}` })));
  assert.deepEqual([answer?.entries.length, answer?.leftOut], [2_000, 500]);
});

test('[MC6] entries stay as received, with unknown fields, integers and nulls, and are frozen', () => {
  const sent = entry('model-a', { new_field: { deep: [1, 2.5, null, 'x'] }, upgrade: null, big: 9007199254740991 });
  const kept = parseCatalog({ models: [structuredClone(sent)] })?.entries[0]?.fields;
  assert.equal(JSON.stringify(kept), JSON.stringify(sent));
  assert.throws(() => Object.assign(kept?.new_field as object, { deep: [] }), TypeError);
});

test('a missing, null or present ceiling is valid', () => {
  const [bare, nulls, given] =
    parseCatalog([
      { id: 'bare' },
      {
        id: 'nulls',
        context_window: null,
        max_context_window: null,
        auto_compact_token_limit: null,
        effective_context_window_percent: null,
      },
      { id: 'given', context_window: 1, max_context_window: 2, auto_compact_token_limit: 3, effective_context_window_percent: 97.5 },
    ])?.entries.map(({ ceilings }) => ceilings) ?? [];
  const unknown = { window: undefined, maximum: undefined, percent: 95, compactAt: undefined, compHash: null };
  assert.deepEqual([bare, nulls], [unknown, unknown]);
  assert.deepEqual(given, { window: 1, maximum: 2, percent: 97.5, compactAt: 3, compHash: null });
});

test('account-side names are mapped back to exposed ids, in both members that can have them', () => {
  const exposed = exposedEntries(parseCatalog([entry('inner', { id: 'inner' })])?.entries ?? [], { outer: 'inner' });
  assert.deepEqual([...exposed.keys()], ['outer']);
  assert.deepEqual(
    [exposed.get('outer')?.fields.slug, exposed.get('outer')?.fields.id, exposed.get('outer')?.id],
    ['outer', 'outer', 'outer'],
  );
});

const NAMES: readonly (readonly [string, Readonly<Record<string, string>>, readonly string[], readonly string[]])[] = [
  ['no names', {}, ['a', 'b'], ['a', 'b']],
  ['one model under two ids', { x: 'a', y: 'a' }, ['a', 'b'], ['x', 'y', 'b']],
  ['a model exposed under its own name too', { a: 'a', x: 'a' }, ['a'], ['a', 'x']],
  ['two names exchanged', { a: 'b', b: 'a' }, ['a', 'b'], ['b', 'a']],
  ['a name that is exposed for another model', { a: 'b' }, ['a', 'b'], ['a']],
  ['a name that is exposed for another model, listed last', { a: 'b' }, ['b', 'a'], ['a']],
  ['a name that the account does not list', { x: 'gone' }, ['a'], ['a']],
];

for (const [name, models, listed, exposed] of NAMES) {
  test(`account-side names: ${name}`, () => {
    const entries = parseCatalog(listed.map((id) => ({ id, from: id })))?.entries ?? [];
    const found = exposedEntries(entries, models);
    assert.deepEqual([...found.keys()], exposed);
    for (const [id, { fields: kept }] of found) assert.equal(kept.from, models[id] ?? id);
  });
}
