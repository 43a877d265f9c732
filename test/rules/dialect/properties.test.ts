// What holds for every body, well-formed or hostile: a second pass changes nothing, Full leaves what it need not touch, nothing but
// a Refusal is thrown, and nothing nested is edited in place (the harness freezes it).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RouteKind } from '../../../proxy/config/config.ts';
import { Refusal } from '../../../proxy/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn.ts';
import { RULES } from '../../../rules/index.ts';
import { isObject } from '../../../rules/json.ts';
import { run, type TurnOptions } from '../../support/turn.ts';
import { FULL, LITE, plain } from './case.ts';

/** A small seeded generator (mulberry32), so that a failure names the body that made it. */
class Dice {
  #state: number;
  constructor(seed: number) {
    this.#state = seed;
  }
  roll(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t ^= t + Math.imul(t ^ (t >>> 7), 61 | t);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.roll() * from.length)] as T;
  }
  list<T>(longest: number, make: () => T): T[] {
    return Array.from({ length: Math.floor(this.roll() * (longest + 1)) }, make);
  }
}

const ENTRY = 'ws_request_header_x_internal_agent_responses_lite';
const ENCRYPTED = 'reasoning.encrypted_content';
const KINDS: readonly RouteKind[] = ['responses', 'compact', 'public-responses'];

/** Members that Full may touch on a native turn, by the contract (F1.4, F2.4, F4.7). */
const NAMED = new Set(['reasoning', 'include', 'client_metadata']);

/** Nulls count as absent (Q15), and the schemas of functions are lowered (F5.1): all else of `input` and `tools` is compared. */
const unlowered = (value: Json | undefined): Json | undefined =>
  value === null ? undefined : Array.isArray(value) ? value.map((one) => (isFunction(one) ? { ...one, parameters: {} } : one)) : value;
const isFunction = (value: Json): value is JsonObject => isObject(value) && value.type === 'function';

const junk = (dice: Dice): Json =>
  dice.pick<Json>([null, 0, -1, 1.5, '', 'x', ' ', true, [], {}, [null], [[]], { type: 5 }, { type: 'message' }, ['x', {}]]);

function part(dice: Dice): Json {
  return dice.pick<() => Json>([
    () => ({ type: 'input_text', text: dice.pick(['', ' ', 'a', 'b\n\nc']) }),
    () => ({ type: 'input_image', image_url: 'data:,', ...(dice.roll() < 0.5 ? { detail: dice.pick<Json>(['high', null]) } : {}) }),
    () => ({ type: 'nested', content: dice.list(2, () => part(dice)) }),
    () => junk(dice),
  ])();
}

function item(dice: Dice): Json {
  const content = (): Json => dice.pick<Json>(['text', dice.list(3, () => part(dice)), junk(dice)]);
  return dice.pick<() => Json>([
    () => ({ type: 'message', role: dice.pick(['user', 'developer', 'system', 'assistant']), content: content() }),
    () => ({ role: dice.pick(['user', 'system']), content: content() }),
    () => ({ type: dice.pick(['function_call_output', 'custom_tool_call_output']), call_id: 'c', output: content() }),
    () => ({
      type: 'additional_tools',
      role: 'developer',
      ...dice.pick<JsonObject>([{}, { id: null }, { id: 'at_1' }]),
      tools: dice.pick<Json>([[], [{ type: 'custom', name: 'g' }], null, 'x']),
    }),
    () => junk(dice),
  ])();
}

function body(dice: Dice): JsonObject {
  const members: readonly [string, () => Json][] = [
    ['input', () => dice.pick<Json>([dice.list(4, () => item(dice)), dice.list(4, () => item(dice)), junk(dice)])],
    ['tools', () => dice.pick<Json>([[{ type: 'function', name: 'f', parameters: {} }], [], null, junk(dice)])],
    ['instructions', () => dice.pick<Json>(['Be brief.', ' ', null, junk(dice)])],
    ['reasoning', () => dice.pick<Json>([{}, { effort: 'minimal' }, { effort: 'high', context: 'auto' }, null, junk(dice)])],
    ['include', () => dice.pick<Json>([[], [ENCRYPTED, 'a', ENCRYPTED], ['a'], null, junk(dice)])],
    [
      'client_metadata',
      () => dice.pick<Json>([{ turn_id: 't' }, { [ENTRY]: 'true', turn_id: 't' }, { [ENTRY.toUpperCase()]: 1 }, null, junk(dice)]),
    ],
    ['parallel_tool_calls', () => dice.pick<Json>([true, false, junk(dice)])],
    ['tool_choice', () => dice.pick<Json>(['auto', 'required', null, { type: 'function', name: 'f' }, junk(dice)])],
    ['max_output_tokens', () => dice.pick<Json>([5, 5000, null, junk(dice)])],
    ['stream', () => junk(dice)],
    ['store', () => junk(dice)],
    ['unknown', () => junk(dice)],
  ];
  const chosen = members.filter(() => dice.roll() < 0.6).map(([name, make]) => [name, make()] as const);
  return { model: dice.roll() < 0.02 ? junk(dice) : 'model-a', ...Object.fromEntries(chosen) };
}

/** The body that goes out, or undefined where the turn was refused; anything else that is thrown fails the test. */
async function sent(from: JsonObject, options: TurnOptions, carrier: 'http' | 'websocket'): Promise<Json | undefined> {
  try {
    return plain((await run(RULES, from, options)).attempt({}, carrier).body);
  } catch (thrown) {
    if (thrown instanceof Refusal) return undefined;
    throw thrown;
  }
}

const SEEDS = 1500;

for (const mode of [FULL, LITE]) {
  for (const kind of KINDS) {
    test(`[F2.10] ${kind} in ${mode.effective}: whatever goes out goes out the same when it is sent again`, async () => {
      let passed = 0;
      for (let seed = 1; seed <= SEEDS; seed++) {
        const dice = new Dice(seed);
        const from = body(dice);
        const carrier = dice.pick(['http', 'websocket'] as const);
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
      assert.ok(passed > SEEDS / 10, `${passed} bodies passed`);
    });
  }
}

test('[F2.11] outside the members that the contract names a native Full body leaves as it came', async () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const from = body(new Dice(seed));
    const out = (await sent(from, { model: { mode: FULL } }, 'http')) as JsonObject | undefined;
    if (out === undefined) continue;
    for (const member of new Set([...Object.keys(from), ...Object.keys(out)])) {
      if (!NAMED.has(member)) assert.deepEqual(unlowered(out[member]), unlowered(from[member]), `seed ${seed}: ${member}`);
    }
    if ('client_metadata' in out) assert.doesNotMatch(JSON.stringify(out.client_metadata), /responses_lite/i, `seed ${seed}`);
    assert.equal((out.include as Json[]).filter((entry) => entry === ENCRYPTED).length, 1);
  }
});

test('[F2.5] every Lite body has its tools first, and none of what Lite does not carry', async () => {
  for (const kind of KINDS) {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const from = body(new Dice(seed));
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
