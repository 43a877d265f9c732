// Properties of every body, well-formed or hostile: a second pass changes nothing, Full changes only what it has to, only Refusals are
// thrown, and nested values are not edited in place (the harness freezes them).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import { RULES } from '../../../rules/index.ts';
import { seedRow, seedsUntil } from '../../support/sample.ts';
import { run, type TurnOptions } from '../../support/turns/turn.ts';
import { generatedBody, NAMED, RandomSource, unlowered, withoutSystem } from './bodies.ts';
import { FULL, LITE, plain } from './case.ts';

const ENCRYPTED = 'reasoning.encrypted_content';
const KINDS: readonly RouteKind[] = ['responses', 'compact', 'public-responses'];

/** The body that is sent; undefined if the turn was refused. Any other error fails the test. */
async function sent(from: JsonObject, options: TurnOptions, carrier: 'http' | 'websocket'): Promise<Json | undefined> {
  try {
    return plain((await run(RULES, from, options)).attempt({}, carrier).body);
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

const SEEDS = seedRow({ daily: 300, all: 1_500 });

for (const mode of [FULL, LITE]) {
  for (const kind of KINDS) {
    test(`[F2.10] ${kind} in ${mode.effective}: every sent body is the same when it is sent again`, async () => {
      let passed = 0;
      const suffices = (): boolean => passed > SEEDS.length / 10;
      for (const seed of seedsUntil(suffices, SEEDS)) {
        const random = new RandomSource(seed);
        const from = generatedBody(random);
        const carrier = random.pick(['http', 'websocket'] as const);
        const options: TurnOptions = {
          kind,
          model: { mode },
          key: seed % 3 === 0 ? { reasoning_effort: { allow_up_to: 'high' }, output_tokens: { max: 100 } } : {},
        };
        const once = await sent(from, options, carrier);
        if (once === undefined) continue;
        passed++;
        assert.deepEqual(await sent(once as JsonObject, options, carrier), once, `seed ${seed}`);
      }
      assert.ok(suffices(), `${passed} bodies passed`);
    });
  }
}

test('[F2.11] outside the members that the contract names a native Full body is sent as it came', async () => {
  for (const seed of SEEDS) {
    const from = generatedBody(new RandomSource(seed));
    const out = (await sent(from, { model: { mode: FULL } }, 'http')) as JsonObject | undefined;
    if (out === undefined) continue;
    for (const member of new Set([...Object.keys(from), ...Object.keys(out)])) {
      if (!NAMED.has(member)) assert.deepEqual(unlowered(out[member]), unlowered(withoutSystem(from[member])), `seed ${seed}: ${member}`);
    }
    if ('client_metadata' in out) assert.doesNotMatch(JSON.stringify(out.client_metadata), /responses_lite/i, `seed ${seed}`);
    assert.equal((out.include as Json[]).filter((entry) => entry === ENCRYPTED).length, 1);
  }
});

test('[F2.5] every Lite body has its tools first, and no member that Lite does not have', async () => {
  for (const kind of KINDS) {
    for (const seed of SEEDS) {
      const from = generatedBody(new RandomSource(seed));
      const out = (await sent(from, { kind, model: { mode: LITE } }, 'http')) as JsonObject | undefined;
      if (out === undefined) continue;
      const [first] = out.input as readonly JsonObject[];
      assert.ok(first?.type === 'additional_tools' && first.role === 'developer' && Array.isArray(first.tools), `seed ${seed}`);
      assert.ok(!('tools' in out) && !('instructions' in out) && out.parallel_tool_calls === false, `seed ${seed}`);
    }
  }
});

test('a body of a hundred thousand items is no deeper than one of a single item', async () => {
  const count = 100_000;
  const from: JsonObject = {
    model: 'model-a',
    input: Array.from({ length: count }, () => ({ type: 'message', role: 'user', content: [{ type: 'input_image', detail: 'high' }] })),
    include: Array.from({ length: count }, () => ENCRYPTED),
  };
  const out = (await sent(from, { model: { mode: LITE } }, 'http')) as JsonObject;
  assert.deepEqual(out.include, [ENCRYPTED]);
  assert.equal((out.input as Json[]).length, count + 1);
});
