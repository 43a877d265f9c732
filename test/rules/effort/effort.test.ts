// The effort rules in isolation, and the pure functions that the catalog shares with them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EFFORTS } from '../../../proxy/turn/wire/efforts.ts';
import { effortAlias } from '../../../rules/effort/effort-alias.ts';
import { effortPolicy } from '../../../rules/effort/effort-policy.ts';
import { permittedEfforts, reflectedEntry } from '../../../rules/helpers/key-policy.ts';
import { refusalBy, run } from '../../support/turns/turn.ts';
import { plain, testCases } from '../dialect/case.ts';
import { ALIASES, ALLOW_UP_TO, ALWAYS, POLICY_THEN_ALIAS, UNRESTRICTED } from './effort.cases.ts';

testCases([effortPolicy], [...UNRESTRICTED, ...ALLOW_UP_TO, ...ALWAYS]);
testCases([effortAlias], ALIASES);

// There is no second pass here, because an effort that was sent as low or max would be checked as such in a second pass.
for (const { name, body, options, changes } of POLICY_THEN_ALIAS) {
  test(name, async () => {
    assert.deepEqual(plain((await run([effortPolicy, effortAlias], body, options)).body), plain({ ...body, ...changes }));
  });
}

test('[F4.2] the message says that the effort is not available for this API key, and does not repeat the requested effort', async () => {
  const refusal = await refusalBy(
    [effortPolicy],
    { reasoning: { effort: 'sesame' } },
    { key: { reasoning_effort: { allow_up_to: 'low' } } },
  );
  assert.match(refusal?.message ?? '', /reasoning effort is not available for this API key/);
  assert.doesNotMatch(refusal?.message ?? '', /sesame/);
});

test('[RE4] known efforts ascend, and a ceiling permits what is at or below it', () => {
  assert.deepEqual(permittedEfforts({ allow_up_to: 'ultra' }, {}), ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra']);
  for (const [i, ceiling] of EFFORTS.entries()) {
    assert.deepEqual(permittedEfforts({ allow_up_to: ceiling }, {}), EFFORTS.slice(0, i + 1));
  }
  assert.deepEqual(permittedEfforts({ allow_up_to: 'turbo' }, {}), [], 'a ceiling that is no known effort permits nothing');
});

const entry = {
  slug: 'model-a',
  supported_reasoning_levels: [
    { effort: 'low', description: 'quick' },
    { effort: 'medium', description: 'even' },
    { effort: 'high', description: 'deep' },
  ],
  default_reasoning_level: 'medium',
};

test('[F4.6] an unrestricted key sees the entry as it is', () => {
  assert.equal(reflectedEntry(undefined, entry), entry);
});

test('[F4.6] a ceiling filters the levels and keeps their descriptions', () => {
  assert.deepEqual(reflectedEntry({ allow_up_to: 'medium' }, entry), {
    ...entry,
    supported_reasoning_levels: entry.supported_reasoning_levels.slice(0, 2),
  });
});

test('[F4.6] a ceiling above everything changes nothing', () => {
  assert.equal(reflectedEntry({ allow_up_to: 'ultra' }, entry), entry);
});

test('[F4.6] a default above the ceiling becomes what an omitted effort becomes', () => {
  assert.equal(reflectedEntry({ allow_up_to: 'low' }, entry).default_reasoning_level, 'low');
});

test('[F4.6] where nothing is permitted there are no levels and no default', () => {
  const reflected = reflectedEntry({ allow_up_to: 'minimal' }, entry);
  assert.deepEqual(reflected, { slug: 'model-a', supported_reasoning_levels: [] });
});

test('[F4.6] always advertises its one level where the model has it', () => {
  const reflected = reflectedEntry({ always: 'high' }, entry);
  assert.deepEqual(reflected.supported_reasoning_levels, entry.supported_reasoning_levels.slice(2));
  assert.equal(reflected.default_reasoning_level, 'high');
});

test('[F4.6] always advertises no levels and no default where the model lacks it', () => {
  assert.deepEqual(reflectedEntry({ always: 'max' }, entry), { slug: 'model-a', supported_reasoning_levels: [] });
});

test('[F4.6] a model without levels gets none by a ceiling, and no default that it did not have', () => {
  assert.deepEqual(reflectedEntry({ allow_up_to: 'low' }, { slug: 'plain', supported_reasoning_levels: [] }), {
    slug: 'plain',
    supported_reasoning_levels: [],
  });
});
