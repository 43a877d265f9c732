// The two model lists as clients get them, and the ETag.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { canonicalJson } from '../../../proxy/turn/json/json.ts';
import type { KeyConfig } from '../../../proxy/turn/settings.ts';
import { KEY } from '../../support/turns/turn.ts';
import { account, answer, entriesOf, entry, world } from '../support.ts';

const key = (fields: Partial<KeyConfig>): KeyConfig => ({ ...KEY, ...fields });
const one = (
  fields: Readonly<Record<string, unknown>>,
  options: Parameters<typeof world>[1] = {},
  as = KEY,
): Readonly<Record<string, unknown>> => {
  const [first] = entriesOf(world({ a: [entry('model-a', fields)] }, options).lists.backend(as).body);
  assert.ok(first);
  return first;
};

test('[MC1] the backend list has every field of the contract, and passes the others through', () => {
  const sent = entry('model-a', { comp_hash: 'h', auto_compact_token_limit: 9000, new_field: { a: [1] }, upgrade: null });
  const { body } = world({ a: [sent] }).lists.backend(KEY);
  assert.deepEqual(entriesOf(body), [sent]);
});

test('[MC1] comp_hash appears only where the provider has one, and an unknown window is left out', () => {
  const told = one({ context_window: undefined, max_context_window: undefined });
  assert.deepEqual(
    ['comp_hash', 'context_window', 'max_context_window', 'auto_compact_token_limit'].filter((name) => name in told),
    [],
  );
  assert.equal(told.effective_context_window_percent, 95);
});

test('[MC5] the backend list has the raw window, /v1/models the effective one', () => {
  for (const [raw, effective] of [
    [272000, 258400],
    [872000, 828400],
  ]) {
    const { lists } = world({ a: [entry('model-a', { context_window: raw, max_context_window: raw })] });
    const [backend] = entriesOf(lists.backend(KEY).body);
    assert.deepEqual([backend?.context_window, backend?.effective_context_window_percent], [raw, 95]);
    assert.equal(JSON.parse(lists.public(KEY).body).data[0].context_length, effective);
  }
});

for (const [value, lite] of [
  [true, true],
  [false, false],
  ['true', false],
  [1, false],
  [null, false],
  [undefined, false],
] as const) {
  test(`[MC2] use_responses_lite is a literal boolean where the provider says ${JSON.stringify(value)}`, () => {
    assert.equal(one({ use_responses_lite: value }).use_responses_lite, lite);
  });
}

test('[MC2] use_responses_lite is the effective mode, and no other field changes with it', () => {
  const told = (mode: 'lite' | 'full'): object =>
    one({ use_responses_lite: mode === 'full' }, { pool: { serving_modes: { 'model-a': mode } } });
  assert.deepEqual(told('lite'), { ...told('full'), use_responses_lite: true });
});

const LEVELS: readonly (readonly [string, Partial<KeyConfig>, readonly string[], string | undefined])[] = [
  ['unrestricted', {}, ['low', 'medium', 'high'], 'medium'],
  ['allow_up_to medium', { reasoning_effort: { allow_up_to: 'medium' } }, ['low', 'medium'], 'medium'],
  ['allow_up_to minimal', { reasoning_effort: { allow_up_to: 'minimal' } }, [], undefined],
  ['always high', { reasoning_effort: { always: 'high' } }, ['high'], 'high'],
  ['always xhigh, which the model lacks', { reasoning_effort: { always: 'xhigh' } }, [], undefined],
];

for (const [name, policy, levels, preferred] of LEVELS) {
  test(`[F4.6] levels and default of a key: ${name}`, () => {
    const told = one({}, {}, key(policy));
    assert.deepEqual(
      (told.supported_reasoning_levels as readonly { effort: string }[]).map(({ effort }) => effort),
      levels,
    );
    assert.equal(told.default_reasoning_level, preferred);
  });
}

test('[F4.6] /v1/models is the same under every effort policy', () => {
  const { lists } = world({ a: [entry('model-a')] });
  assert.equal(lists.public(key({ reasoning_effort: { always: 'low' } })), lists.public(KEY));
});

for (const levels of [undefined, null]) {
  test(`a missing list of levels (${levels}) becomes an empty one`, () => {
    assert.deepEqual(one({ supported_reasoning_levels: levels }).supported_reasoning_levels, []);
  });
}

const UNFIT: readonly (readonly [string, unknown])[] = [
  ['a bare id', { id: 'model-x' }],
  ...[
    'display_name',
    'shell_type',
    'visibility',
    'supported_in_api',
    'priority',
    'support_verbosity',
    'truncation_policy',
    'experimental_supported_tools',
    'base_instructions',
  ].map((name) => [`no ${name}`, entry('model-x', { [name]: undefined })] as const),
  ['a priority with a fraction', entry('model-x', { priority: 1.5 })],
  ['a percent with a fraction', entry('model-x', { effective_context_window_percent: 97.5 })],
  ['levels without description', entry('model-x', { supported_reasoning_levels: [{ effort: 'low' }] })],
  ['levels as text', entry('model-x', { supported_reasoning_levels: 'low' })],
  ['a truncation policy without limit', entry('model-x', { truncation_policy: { mode: 'tokens' } })],
];

for (const [name, unfit] of UNFIT) {
  test(`an entry that native clients cannot read appears in /v1/models only: ${name}`, () => {
    const { lists } = world({ a: [unfit, entry('model-a')] });
    assert.deepEqual(
      entriesOf(lists.backend(KEY).body).map(({ slug }) => slug),
      ['model-a'],
    );
    assert.deepEqual(
      JSON.parse(lists.public(KEY).body).data.map(({ id }: { id: string }) => id),
      ['model-x', 'model-a'],
    );
  });
}

test('instructions may come as a template', () => {
  const told = one({ base_instructions: undefined, model_messages: { instructions_template: 'You are.' } });
  assert.equal(told.slug, 'model-a');
});

test('a native entry of an OpenAI-shaped list gets its slug', () => {
  assert.equal(one({ slug: undefined, id: 'model-a' }).slug, 'model-a');
});

test('[A2] a key sees what its allow-list permits, in both lists', () => {
  const { lists } = world({ a: [entry('model-a'), entry('model-b')] });
  const narrow = key({ models: ['model-b', 'model-z'] });
  assert.deepEqual(
    entriesOf(lists.backend(narrow).body).map(({ slug }) => slug),
    ['model-b'],
  );
  assert.equal(JSON.parse(lists.public(narrow).body).data.length, 1);
  assert.deepEqual(entriesOf(lists.backend(key({ models: [] })).body), []);
});

test('[ML1] [ML2] an entry of /v1/models has its five members and no other', () => {
  const read = {
    a: [entry('model-a', { comp_hash: 'h', created: 1700000000, owned_by: 'org-secret', max_output_tokens: 1 }), { id: 'bare' }],
  };
  assert.equal(
    world(read).lists.public(KEY).body,
    canonicalJson({
      object: 'list',
      data: [
        { id: 'model-a', object: 'model', created: 1700000000, owned_by: 'poolgate', context_length: 258400 },
        { id: 'bare', object: 'model', created: 0, owned_by: 'poolgate' },
      ],
    }),
  );
});

test('[A1] the ETag is the digest of the canonical body, and weak', () => {
  const { body, etag } = world({ a: [entry('model-a')] }).lists.backend(KEY);
  assert.equal(canonicalJson(JSON.parse(body)), body);
  assert.equal(etag, `W/"${createHash('sha256').update(body).digest('hex')}"`);
});

test('[A1] equal bodies give equal ETags, whatever the order of members and of allow-lists, and on every node', () => {
  const turned = (value: object): object => Object.fromEntries(Object.entries(value).reverse());
  const here = world({ a: [entry('model-a'), entry('model-b')] }).lists;
  const there = world({ a: [turned(entry('model-a')), turned(entry('model-b'))] }).lists;
  const listed = (models: readonly string[]): KeyConfig => key({ models });
  assert.equal(here.etag(KEY), there.etag(key({ id: 'other' })));
  assert.equal(here.etag(listed(['model-a', 'model-b'])), there.etag(listed(['model-b', 'model-a', 'model-b'])));
  assert.equal(here.etag(KEY), here.backend(KEY).etag);
});

test('[VE1] the ETag changes with the entries, the mode, the routable models and the policy, and back', () => {
  const { lists, health, accounts } = world({
    a: [entry('model-a')],
    b: [entry('model-a', { use_responses_lite: true }), entry('model-b')],
  });
  const first = lists.etag(KEY);
  health.down = ['b/model-a'];
  const full = lists.etag(KEY);
  health.down = ['b/model-b'];
  const fewer = lists.etag(KEY);
  health.down = [];
  assert.equal(lists.etag(KEY), first);
  answer(accounts, 'a', [entry('model-a', { priority: 2 })]);
  const edited = lists.etag(KEY);
  answer(accounts, 'a', [entry('model-a')]);
  assert.equal(lists.etag(KEY), first);
  const policy = lists.etag(key({ reasoning_effort: { always: 'low' } }));
  assert.equal(new Set([first, full, fewer, edited, policy]).size, 5);
});

test('[SM6] a configured mode that changes the effective one changes the ETag; one that does not, does not', () => {
  const etag = (mode: 'auto' | 'lite' | 'full'): string =>
    world({ a: [entry('model-a')] }, { pool: { serving_modes: { 'model-a': mode } } }).lists.etag(KEY);
  assert.equal(etag('auto'), etag('full'));
  assert.notEqual(etag('auto'), etag('lite'));
});

test('[A1] an account that joins, leaves or hides without changing the body leaves the ETag', () => {
  const { lists, accounts } = world({ a: [entry('model-a')], b: [entry('model-a')] });
  const before = lists.etag(KEY);
  accounts.configure([account('a'), account('b', { visible: false })]);
  assert.equal(lists.etag(KEY), before);
});

test('lists are built once per policy and state', () => {
  const { lists, health } = world({ a: [entry('model-a')] });
  assert.equal(lists.backend(key({ models: ['x', 'y'] })), lists.backend(key({ models: ['y', 'x', 'x'] })));
  const body = lists.backend(KEY);
  assert.equal(lists.backend(key({ id: 'another', limits: { concurrent: 1 } })), body);
  health.down = ['b'];
  assert.equal(lists.backend(KEY), body);
});

test('[MC1] the recorded catalog of a real client passes unchanged except for the fields that the gateway sets', () => {
  const recorded = JSON.parse(readFileSync(new URL('../recorded-catalog.json', import.meta.url), 'utf8'));
  const { lists } = world({ a: recorded.models });
  const filledIn = recorded.models.map((model: object) => ({ ...model, auto_compact_token_limit: 244800 }));
  assert.deepEqual(entriesOf(lists.backend(KEY).body), filledIn);
});
