// Runs the table of lowered schemas, and checks the properties of lowering on generated ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { Json } from '../../../proxy/turn/json/json.ts';
import { lowerSchemas } from '../../../rules/tools/schemas/lower-schemas.ts';
import { lowerParameters } from '../../../rules/tools/schemas/schema-lowering.ts';
import { KEYWORDS, MAX_SCHEMA_DEPTH } from '../../../rules/tools/schemas/tool-schema.ts';
import { frozen, phase, turnOf } from '../../support/turns/turn.ts';
import { asks, testCases } from './case.ts';
import { LOWERED_TOOLS, LOWERINGS } from './lowering.cases.ts';
import { deepSchema, randomOf, schemaOf } from './schemas.ts';

const SEEDS = Array.from({ length: 3000 }, (_, seed) => seed);

testCases([lowerSchemas], LOWERED_TOOLS);

test('[F5.1] lowering a lowered schema returns the same object', () => {
  for (const { name, before } of LOWERINGS) {
    const once = lowerParameters(before, 'p');
    assert.ok(lowerParameters(frozen(once), 'p') === once, name);
  }
  for (const seed of SEEDS) {
    const once = lowerParameters(frozen(schemaOf(randomOf(seed))), 'p');
    assert.ok(lowerParameters(frozen(once), 'p') === once, `seed ${seed}`);
  }
});

test('[F5.1] a lowered schema has only what the backend accepts, at every depth', () => {
  for (const seed of SEEDS) {
    const lowered = lowerParameters(schemaOf(randomOf(seed)), 'p');
    if (typeof lowered !== 'object' || lowered === null || Array.isArray(lowered)) continue;
    assert.equal((lowered as { type?: Json }).type, 'object', `seed ${seed}`);
    accepted(lowered, `seed ${seed}`);
  }
});

function accepted(schema: Json | undefined, where: string): void {
  assert.notEqual(typeof schema, 'boolean', where);
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return;
  const members = schema as Readonly<Record<string, Json>>;
  const types = [members.type].flat();
  if (types.includes('object')) assert.ok(members.properties !== undefined, where);
  if (types.includes('array')) assert.ok(members.items !== undefined, where);
  for (const [keyword, value] of Object.entries(members)) {
    const kind = KEYWORDS.get(keyword);
    assert.ok(kind, `${where}: ${keyword}`);
    if (kind === 'map') for (const one of Object.values(value as object)) accepted(one as Json, where);
    if (kind === 'list' && Array.isArray(value)) for (const one of value) accepted(one, where);
    if (kind === 'schema' && !(keyword === 'additionalProperties' && typeof value === 'boolean')) {
      assert.ok(!Array.isArray(value), where);
      accepted(value, where);
    }
  }
}

test('[F5.1] a strict function stays the same object', () => {
  const tools = frozen(SEEDS.map((seed) => ({ type: 'function', name: `f${seed}`, strict: true, parameters: schemaOf(randomOf(seed)) })));
  for (const declared of [tools, [{ type: 'namespace', name: 'n', tools }]]) {
    const work = { body: { ...asks({ tools: declared as Json }) } };
    phase(lowerSchemas, 'request')(work, turnOf());
    assert.ok(work.body.tools === declared);
  }
});

test('where nothing is lowered, the list of tools stays the same object', () => {
  const tools = frozen([
    { type: 'function', name: 'f', parameters: { type: 'object', properties: { a: { type: 'array', items: {} } } } },
    { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g', parameters: { type: 'object', properties: {} } }] },
  ]);
  const work = { body: { ...asks({ tools }) } };
  phase(lowerSchemas, 'request')(work, turnOf());
  assert.ok(work.body.tools === tools);
});

test('a schema may nest up to the limit, and is refused beyond it', () => {
  for (const wrap of [
    (inner: Json) => ({ properties: { a: inner } }),
    (inner: Json) => ({ items: inner }),
    (inner: Json) => ({ items: [inner] }),
    (inner: Json) => ({ anyOf: [inner] }),
    (inner: Json) => ({ additionalProperties: inner }),
    (inner: Json) => ({ $defs: { a: inner } }),
  ]) {
    lowerParameters(deepSchema(MAX_SCHEMA_DEPTH, wrap), 'p');
    for (const levels of [MAX_SCHEMA_DEPTH + 1, 100_000]) {
      assert.throws(
        () => lowerParameters(deepSchema(levels, wrap), 'tools.3.parameters'),
        (thrown) =>
          thrown instanceof Refusal && thrown.code === 'invalid_function_parameters' && thrown.error.param === 'tools.3.parameters',
      );
    }
  }
});

test('lowering does not limit depth outside schemas', () => {
  let value: Json = 1;
  for (let i = 0; i < 100_000; i += 1) value = [value];
  const lowered = lowerParameters({ type: 'object', properties: { a: { enum: [value], items: value, anyOf: value } } }, 'p');
  assert.ok(lowered);
});
