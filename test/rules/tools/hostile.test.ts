// Whatever JSON a client sends, the rules on tools and shapes refuse it, change it or pass it, and never fail.
import { test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import type { Body } from '../../../proxy/turn/turn.ts';
import { audio } from '../../../rules/input/audio.ts';
import { inputLists } from '../../../rules/input/input-lists.ts';
import { itemReferences } from '../../../rules/input/item-references.ts';
import { reasoningContext } from '../../../rules/input/reasoning-context.ts';
import { unsupportedParameters } from '../../../rules/input/unsupported-parameters.ts';
import { customTools } from '../../../rules/tools/custom-tools.ts';
import { namespaceRestoration } from '../../../rules/tools/namespace-restoration.ts';
import { remoteMcp } from '../../../rules/tools/remote-mcp.ts';
import { lowerSchemas } from '../../../rules/tools/schemas/lower-schemas.ts';
import { strictRepair } from '../../../rules/tools/schemas/strict-repair.ts';
import { strictSchemas } from '../../../rules/tools/schemas/strict-schemas.ts';
import { toolChoice } from '../../../rules/tools/tool-choice.ts';
import { toolNames } from '../../../rules/tools/tool-names.ts';
import { toolTypes } from '../../../rules/tools/tool-types.ts';
import { webSearchNames } from '../../../rules/tools/web-search-names.ts';
import { chainOf, frozen, turnOf } from '../../support/turns/turn.ts';
import { randomOf } from './schemas.ts';

const RULES: readonly Rule[] = [
  inputLists,
  unsupportedParameters,
  reasoningContext,
  audio,
  itemReferences,
  remoteMcp,
  webSearchNames,
  toolTypes,
  customTools,
  toolNames,
  toolChoice,
  strictSchemas,
  strictRepair,
  namespaceRestoration,
  lowerSchemas,
];
const KINDS: readonly RouteKind[] = ['responses', 'compact', 'public-responses', 'public-compact', 'chat'];

// biome-ignore format: a list of words
const KEYS = [
  'input', 'messages', 'tools', 'tool_choice', 'text', 'format', 'schema', 'json_schema', 'response_format', 'reasoning', 'context', 'type',
  'name', 'function', 'parameters', 'strict', 'content', 'input_audio', 'data', 'allowed_callers', 'properties', 'items', 'anyOf', 'required',
  'namespace', 'output', 'item', 'response', '__proto__', 'constructor', 'length', 'toString', '0', '',
];
// biome-ignore format: a list of words
const SCALARS: readonly Json[] = [
  null, true, false, 0, -1, 1e308, '', ' ', 'x', '=', 'AAAA', 'wav', 'auto', 'function', 'custom', 'namespace', 'additional_tools', 'input_audio',
  'custom_tool_call', 'allowed_tools', 'json_schema', 'object', 'array', '__proto__', 'constructor', '\ud800', '\u0000',
];

type Random = () => number;
const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

function jsonOf(random: Random, depth: number): Json {
  const chance = random();
  if (depth === 0 || chance < 0.3) return pick(random, SCALARS);
  const some = Array.from({ length: Math.floor(random() * 5) }, () => jsonOf(random, depth - 1));
  return chance < 0.5 ? some : Object.fromEntries(some.map((value) => [pick(random, KEYS), value]));
}

/** Each rule runs separately, because the rule before it would refuse most of the bodies that test it. */
test('no body breaks a rule, and none is edited below its top level', () => {
  for (let seed = 0; seed < 4000; seed += 1) {
    const random = randomOf(seed);
    const body = frozen(Object.fromEntries(KEYS.slice(0, 12).map((key) => [key, jsonOf(random, 5)])));
    const answer = frozen({ output: jsonOf(random, 3), item: jsonOf(random, 2), response: jsonOf(random, 4) });
    for (const kind of KINDS) for (const rule of RULES) survives(rule, body, answer, kind);
  }
});

function survives(rule: Rule, body: JsonObject, answer: JsonObject, kind: RouteKind): void {
  const work: { body: Body } = { body: { ...body } };
  const turn = turnOf({ kind });
  try {
    const chain = chainOf([rule], turn);
    chain.request(work);
    chain.edit(work);
    chain.answer(answer);
    chain.event({ type: 'response.completed', data: answer });
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) throw new Error(`${rule.name} on ${kind}`, { cause: thrown });
  }
}

test('endless nesting breaks no rule', () => {
  for (const key of ['tools', 'type', 'name', 'content', 'function', 'parameters', 'input_audio', 'properties', 'format']) {
    let value: Json = 'x';
    for (let i = 0; i < 50_000; i += 1) value = i % 2 === 0 ? [value] : { type: 'namespace', [key]: value };
    for (const kind of KINDS) {
      for (const rule of RULES) {
        for (const member of ['input', 'tools', 'tool_choice', 'text', 'reasoning', 'messages', 'response_format']) {
          survives(rule, { [member]: value }, { output: value }, kind);
          survives(rule, { [member]: [{ type: 'function', strict: true, name: value, parameters: value, content: value }] }, {}, kind);
        }
      }
    }
  }
});
