// Minimal values of schemas.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exampleOf } from '../../../proxy/rehearsal/model/schema-example.ts';
import type { Json } from '../../../proxy/turn/json/json.ts';

const cases: readonly (readonly [what: string, schema: Json, value: Json])[] = [
  ['required members only', { type: 'object', properties: { a: { type: 'string' }, b: { type: 'null' } }, required: ['b'] }, { b: null }],
  ['a constant', { const: 7 }, 7],
  ['the first choice', { enum: ['x', 'y'] }, 'x'],
  ['a nullable type', { type: ['null', 'integer'], minimum: 3 }, 3],
  [
    'a reference',
    { $defs: { n: { type: 'number', exclusiveMinimum: 1 } }, type: 'object', properties: { n: { $ref: '#/$defs/n' } }, required: ['n'] },
    { n: 2 },
  ],
  [
    'the first branch, a reference',
    { $defs: { s: { type: 'string', maxLength: 3 } }, anyOf: [{ $ref: '#/$defs/s' }, { type: 'null' }] },
    'reh',
  ],
  [
    'all of several',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] },
        { properties: { b: { const: 1 } }, required: ['b'] },
      ],
    },
    { a: true, b: 1 },
  ],
  ['a list with items', { type: 'array', minItems: 2, items: { type: 'string', format: 'date' } }, ['2026-01-01', '2026-01-01']],
  ['no schema', {}, null],
];

for (const [what, schema, value] of cases) test(`the example of ${what}`, () => assert.deepEqual(exampleOf(schema), value));

test('a schema that refers to itself ends', () => {
  const schema = { type: 'object', properties: { next: { $ref: '#' } }, required: ['next'] };
  assert.ok(JSON.stringify(exampleOf(schema)).length < 1000);
});
