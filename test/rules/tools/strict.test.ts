// Runs the tables of strict schemas, and checks the properties of the repair on generated ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { lowerSchemas } from '../../../rules/tools/schemas/lower-schemas.ts';
import { strictRepair } from '../../../rules/tools/schemas/strict-repair.ts';
import { strictSchemas } from '../../../rules/tools/schemas/strict-schemas.ts';
import { MAX_SCHEMA_DEPTH } from '../../../rules/tools/schemas/tool-schema.ts';
import { frozen, phase, turnOf } from '../../support/turns/turn.ts';
import { asks, testCases } from './case.ts';
import { deepSchema, randomOf, schemaOf } from './schemas.ts';
import { LOOSE_PARAMETERS, STRICT_FORMATS, STRICT_PARAMETERS, STRICT_REPAIR, TYPE_VALUES } from './strict.cases.ts';

testCases(
  [strictSchemas, strictRepair, lowerSchemas],
  [...STRICT_FORMATS, ...STRICT_PARAMETERS, ...LOOSE_PARAMETERS, ...TYPE_VALUES, ...STRICT_REPAIR],
);

/** The parameters as they are sent, or undefined if the rule refused. */
function repaired(parameters: Json): Json | undefined {
  const work = { body: { ...asks({ tools: [{ type: 'function', name: 'f', strict: true, parameters }] }) } };
  try {
    phase(strictRepair, 'request')(work, turnOf({ kind: 'public-responses' }));
  } catch (thrown) {
    assert.ok(thrown instanceof Refusal);
    return undefined;
  }
  return (work.body.tools as readonly JsonObject[])[0]?.parameters;
}

test('[F5.6] a repair only adds types, and only once', () => {
  for (let seed = 0; seed < 5000; seed += 1) {
    const random = randomOf(seed);
    const parameters = frozen({ type: 'object', properties: { a: schemaOf(random), b: schemaOf(random) } });
    const after = repaired(parameters);
    if (after === undefined) continue;
    onlyTypesAdded(parameters, after, `seed ${seed}`);
    assert.equal(repaired(frozen(after)), after, `seed ${seed}`);
  }
});

function onlyTypesAdded(was: Json | undefined, is: Json | undefined, where: string): void {
  if (!isObject(was) || !isObject(is)) {
    assert.deepEqual(is, was, where);
    return;
  }
  for (const name of Object.keys(is)) {
    if (Object.hasOwn(was, name)) onlyTypesAdded(was[name], is[name], where);
    else assert.ok(name === 'type' && (is.type === 'object' || is.type === 'array'), where);
  }
  assert.ok(
    Object.keys(was).every((name) => Object.hasOwn(is, name)),
    where,
  );
}

test('a function that is not strict is not repaired, but lowered', () => {
  const tools = [
    { type: 'function', name: 'f', strict: 'true', parameters: { type: 'object', properties: { a: { items: { type: 'string' } } } } },
  ];
  const work = { body: { ...asks({ tools }) } };
  phase(strictRepair, 'request')(work, turnOf({ kind: 'public-responses' }));
  assert.equal(work.body.tools, tools);
});

test('strict parameters may nest up to the limit, and are refused beyond it', () => {
  for (const wrap of [
    (inner: Json): JsonObject => ({ type: 'object', properties: { a: inner } }),
    (inner: Json): JsonObject => ({ items: inner }),
    (inner: Json): JsonObject => ({ type: 'array', items: [inner] }),
    (inner: Json): JsonObject => ({ anyOf: [inner] }),
    (inner: Json): JsonObject => ({ $defs: { a: inner } }),
  ]) {
    const root = (levels: number): JsonObject => ({ type: 'object', properties: { a: deepSchema(levels - 1, wrap) } });
    assert.ok(repaired(root(MAX_SCHEMA_DEPTH)) !== undefined);
    assert.equal(repaired(root(MAX_SCHEMA_DEPTH + 1)), undefined);
    assert.equal(repaired(root(100_000)), undefined);
  }
});
