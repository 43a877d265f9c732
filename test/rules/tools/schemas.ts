// Generated JSON schemas, valid and invalid, for tests of the properties of lowering and repair; equal seeds give equal schemas.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';

type Random = () => number;

/** Numbers from 0 to 1 that depend only on the seed. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const WORDS = ['type', 'properties', 'const', '__proto__', 'constructor', 'toString', 'a', 'b', '0', '', 'items', '$ref'];
const TYPES: readonly Json[] = ['object', 'array', 'string', 'integer', ['object', 'null'], ['array', 'string'], null, 7, 'date', []];
const PLAIN = [
  'description',
  'title',
  'default',
  'minLength',
  '$schema',
  '$ref',
  'enum',
  'const',
  'required',
  'format',
  'x-note',
  '__proto__',
];
const ONE = ['items', 'additionalProperties', 'not', 'if', 'contains', 'propertyNames'];
const MANY = ['anyOf', 'oneOf', 'allOf', 'prefixItems', 'items'];
const NAMED = ['properties', '$defs', 'definitions', 'patternProperties'];

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;

export function schemaOf(random: Random, depth = 4): Json {
  const chance = random();
  if (chance < 0.08) return random() < 0.5;
  if (chance < 0.11) return pick<Json>(random, [null, 7, 'object', [], [{}]]);
  const members: [string, Json][] = [];
  if (random() < 0.6) members.push(['type', pick(random, TYPES)]);
  for (let i = Math.floor(random() * 5); i > 0; i -= 1) members.push(memberOf(random, depth));
  return Object.fromEntries(members);
}

function memberOf(random: Random, depth: number): [string, Json] {
  if (depth === 0 || random() < 0.4) return [pick(random, PLAIN), dataOf(random)];
  const some = Array.from({ length: Math.floor(random() * 4) }, () => schemaOf(random, depth - 1));
  const chance = random();
  if (chance < 0.3) return [pick(random, ONE), schemaOf(random, depth - 1)];
  if (chance < 0.5) return [pick(random, MANY), some];
  return [pick(random, NAMED), Object.fromEntries(some.map((schema) => [pick(random, WORDS), schema]))];
}

function dataOf(random: Random): Json {
  return pick<Json>(random, ['x', 1, true, null, ['a'], ['a', 'b'], { type: 'string', title: 't' }, [{ properties: {} }]]);
}

/** A schema nested this many levels deep, made without recursion. */
export function deepSchema(levels: number, wrap: (inner: Json) => JsonObject): Json {
  let schema: Json = { type: 'string' };
  for (let i = 0; i < levels; i += 1) schema = wrap(schema);
  return schema;
}
