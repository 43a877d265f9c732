// Made-up request bodies, good and bad, the same for the same seed: the input of the properties of the dialects.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { isObject } from '../../../proxy/turn/json/json.ts';

/** A small seeded generator (mulberry32), so that a failure names the body that made it. */
export class Dice {
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

/** A whole request: partly well-formed, partly malformed; the same for the same random numbers. */
export function generatedBody(dice: Dice): JsonObject {
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

/** Members that Full may touch on a native turn, by the contract (F1.4, F2.4, F4.7). */
export const NAMED = new Set(['reasoning', 'include', 'client_metadata']);

/** Nulls count as absent (Q15), and the schemas of functions are lowered (F5.1): all else of `input` and `tools` is compared. */
export const unlowered = (value: Json | undefined): Json | undefined =>
  value === null ? undefined : Array.isArray(value) ? value.map((one) => (isFunction(one) ? { ...one, parameters: {} } : one)) : value;
/** A list with developer messages in the place of system messages (RB9). */
export const withoutSystem = (value: Json | undefined): Json | undefined =>
  Array.isArray(value) ? value.map((one) => (isSystemMessage(one) ? { ...one, role: 'developer' } : one)) : value;

const isSystemMessage = (value: Json): value is JsonObject =>
  isObject(value) && (value.type ?? 'message') === 'message' && value.role === 'system';

const isFunction = (value: Json): value is JsonObject => isObject(value) && value.type === 'function';
