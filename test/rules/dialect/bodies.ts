// Generated request bodies, valid and invalid, for tests of the properties of the dialects; equal seeds give equal bodies.
import { isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';

/** A small seeded generator (mulberry32), so a failure can state the seed of its body. */
export class RandomSource {
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

const junk = (random: RandomSource): Json =>
  random.pick<Json>([null, 0, -1, 1.5, '', 'x', ' ', true, [], {}, [null], [[]], { type: 5 }, { type: 'message' }, ['x', {}]]);

function part(random: RandomSource): Json {
  return random.pick<() => Json>([
    () => ({ type: 'input_text', text: random.pick(['', ' ', 'a', 'b\n\nc']) }),
    () => ({ type: 'input_image', image_url: 'data:,', ...(random.roll() < 0.5 ? { detail: random.pick<Json>(['high', null]) } : {}) }),
    () => ({ type: 'nested', content: random.list(2, () => part(random)) }),
    () => junk(random),
  ])();
}

function item(random: RandomSource): Json {
  const content = (): Json => random.pick<Json>(['text', random.list(3, () => part(random)), junk(random)]);
  return random.pick<() => Json>([
    () => ({ type: 'message', role: random.pick(['user', 'developer', 'system', 'assistant']), content: content() }),
    () => ({ role: random.pick(['user', 'system']), content: content() }),
    () => ({ type: random.pick(['function_call_output', 'custom_tool_call_output']), call_id: 'c', output: content() }),
    () => ({
      type: 'additional_tools',
      role: 'developer',
      ...random.pick<JsonObject>([{}, { id: null }, { id: 'at_1' }]),
      tools: random.pick<Json>([[], [{ type: 'custom', name: 'g' }], null, 'x']),
    }),
    () => junk(random),
  ])();
}

/** A complete request, partly well-formed and partly malformed; equal random numbers give equal requests. */
export function generatedBody(random: RandomSource): JsonObject {
  const members: readonly [string, () => Json][] = [
    ['input', () => random.pick<Json>([random.list(4, () => item(random)), random.list(4, () => item(random)), junk(random)])],
    ['tools', () => random.pick<Json>([[{ type: 'function', name: 'f', parameters: {} }], [], null, junk(random)])],
    ['instructions', () => random.pick<Json>(['Be brief.', ' ', null, junk(random)])],
    ['reasoning', () => random.pick<Json>([{}, { effort: 'minimal' }, { effort: 'high', context: 'auto' }, null, junk(random)])],
    ['include', () => random.pick<Json>([[], [ENCRYPTED, 'a', ENCRYPTED], ['a'], null, junk(random)])],
    [
      'client_metadata',
      () => random.pick<Json>([{ turn_id: 't' }, { [ENTRY]: 'true', turn_id: 't' }, { [ENTRY.toUpperCase()]: 1 }, null, junk(random)]),
    ],
    ['parallel_tool_calls', () => random.pick<Json>([true, false, junk(random)])],
    ['tool_choice', () => random.pick<Json>(['auto', 'required', null, { type: 'function', name: 'f' }, junk(random)])],
    ['max_output_tokens', () => random.pick<Json>([5, 5000, null, junk(random)])],
    ['stream', () => junk(random)],
    ['store', () => junk(random)],
    ['unknown', () => junk(random)],
  ];
  const chosen = members.filter(() => random.roll() < 0.6).map(([name, make]) => [name, make()] as const);
  return { model: random.roll() < 0.02 ? junk(random) : 'model-a', ...Object.fromEntries(chosen) };
}

/** Members of a native turn that Full may change according to the contract (F1.4, F2.4, F4.7). */
export const NAMED = new Set(['reasoning', 'include', 'client_metadata']);

/** The value without what may change: nulls count as absent (Q15), and the schemas of functions are lowered (F5.1). */
export const unlowered = (value: Json | undefined): Json | undefined =>
  value === null ? undefined : Array.isArray(value) ? value.map((one) => (isFunction(one) ? { ...one, parameters: {} } : one)) : value;
/** A list with developer messages instead of system messages (RB9). */
export const withoutSystem = (value: Json | undefined): Json | undefined =>
  Array.isArray(value) ? value.map((one) => (isSystemMessage(one) ? { ...one, role: 'developer' } : one)) : value;

const isSystemMessage = (value: Json): value is JsonObject =>
  isObject(value) && (value.type ?? 'message') === 'message' && value.role === 'system';

const isFunction = (value: Json): value is JsonObject => isObject(value) && value.type === 'function';
