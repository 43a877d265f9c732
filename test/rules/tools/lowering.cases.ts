// The lowering of schemas of functions that are not strict, one keyword after the other.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { asks, type Case } from './case.ts';

export interface Lowering {
  readonly name: string;
  readonly before: Json;
  readonly after: Json;
}

const OBJECT = { type: 'object', properties: {} };
const root = (properties: JsonObject): JsonObject => ({ type: 'object', properties });
const nested = (name: string, before: Json, after: Json): Lowering => ({ name, before: root({ a: before }), after: root({ a: after }) });

export const LOWERINGS: readonly Lowering[] = [
  {
    name: 'every keyword that is kept',
    before: {
      type: 'object',
      description: 'all',
      properties: {
        a: { type: 'string', enum: ['x', 1, null] },
        b: { type: 'array', items: { $ref: '#/$defs/d' } },
        c: { anyOf: [{ type: 'string' }, { type: ['number', 'null'] }], description: 'either' },
        d: { oneOf: [{ $ref: '#/definitions/e' }] },
        e: { allOf: [{ type: 'integer' }] },
        f: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
      },
      required: ['a', 'zz'],
      additionalProperties: false,
      $defs: { d: { type: 'string' } },
      definitions: { e: { type: 'null' } },
    },
    after: {
      type: 'object',
      description: 'all',
      properties: {
        a: { type: 'string', enum: ['x', 1, null] },
        b: { type: 'array', items: { $ref: '#/$defs/d' } },
        c: { anyOf: [{ type: 'string' }, { type: ['number', 'null'] }], description: 'either' },
        d: { oneOf: [{ $ref: '#/definitions/e' }] },
        e: { allOf: [{ type: 'integer' }] },
        f: { type: 'object', properties: {}, additionalProperties: { type: 'string' } },
      },
      required: ['a', 'zz'],
      additionalProperties: false,
      $defs: { d: { type: 'string' } },
      definitions: { e: { type: 'null' } },
    },
  },
  ...[
    '$schema',
    '$id',
    '$comment',
    '$anchor',
    'title',
    'default',
    'examples',
    'format',
    'pattern',
    'minLength',
    'maxLength',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'multipleOf',
    'minItems',
    'maxItems',
    'uniqueItems',
    'minProperties',
    'nullable',
    'deprecated',
    'readOnly',
    'not',
    'if',
    'then',
    'else',
    'prefixItems',
    'contains',
    'patternProperties',
    'propertyNames',
    'dependentSchemas',
    'unevaluatedProperties',
    'additionalItems',
    'x-order',
    'toString',
    '__proto__',
  ].map((keyword) =>
    nested(
      `${keyword} goes`,
      JSON.parse(`{"type": "string", "description": "d", ${JSON.stringify(keyword)}: {"type": "string"}}`) as Json,
      { type: 'string', description: 'd' },
    ),
  ),
  {
    name: 'at every depth',
    before: {
      ...root({
        a: { type: 'array', title: 't', items: { type: 'object', properties: { b: { anyOf: [{ const: 1, title: 't' }] } }, title: 't' } },
      }),
      additionalProperties: { type: 'string', maxLength: 3 },
      allOf: [{ type: 'string', title: 't' }],
      oneOf: [{ type: 'string', title: 't' }],
      $defs: { a: { type: 'string', title: 't' } },
      definitions: { a: { type: 'string', title: 't' } },
    },
    after: {
      ...root({ a: { type: 'array', items: { type: 'object', properties: { b: { anyOf: [{ enum: [1] }] } } } } }),
      additionalProperties: { type: 'string' },
      allOf: [{ type: 'string' }],
      oneOf: [{ type: 'string' }],
      $defs: { a: { type: 'string' } },
      definitions: { a: { type: 'string' } },
    },
  },
  nested('const becomes an enum', { const: 'x' }, { enum: ['x'] }),
  nested('a null const too', { const: null, type: 'null' }, { enum: [null], type: 'null' }),
  nested('an object const too, as it is', { const: { title: 'kept' } }, { enum: [{ title: 'kept' }] }),
  nested('const wins over enum', { const: 1, enum: [1, 2] }, { enum: [1] }),
  nested('values of an enum are no schemas', { enum: [{ title: 'kept' }, true] }, { enum: [{ title: 'kept' }, true] }),
  nested('a true schema', true, {}),
  nested('a false schema', false, {}),
  nested('boolean items', { type: 'array', items: true }, { type: 'array', items: {} }),
  nested('boolean alternatives', { anyOf: [true, { type: 'string' }, false] }, { anyOf: [{}, { type: 'string' }, {}] }),
  {
    name: 'boolean definitions',
    before: { ...OBJECT, $defs: { a: true }, definitions: { b: false } },
    after: { ...OBJECT, $defs: { a: {} }, definitions: { b: {} } },
  },
  {
    name: 'boolean additionalProperties stay',
    before: root({ a: { type: 'object', properties: {}, additionalProperties: true } }),
    after: root({ a: { type: 'object', properties: {}, additionalProperties: true } }),
  },
  nested('type from properties', { properties: { b: { type: 'string' } } }, { type: 'object', properties: { b: { type: 'string' } } }),
  nested('type from required', { required: ['b'] }, { type: 'object', required: ['b'], properties: {} }),
  nested(
    'type from additionalProperties',
    { additionalProperties: false },
    { type: 'object', additionalProperties: false, properties: {} },
  ),
  nested('type from items', { items: { type: 'string' } }, { type: 'array', items: { type: 'string' } }),
  nested('type from boolean items', { items: true }, { type: 'array', items: {} }),
  nested('an object before an array', { properties: {}, items: {} }, { type: 'object', properties: {}, items: {} }),
  nested('no evidence, no type', { description: 'd', minLength: 1 }, { description: 'd' }),
  nested('a keyword that goes is no evidence', { minProperties: 1, prefixItems: [] }, {}),
  nested('an object has properties', { type: 'object' }, { type: 'object', properties: {} }),
  nested('an array has items', { type: 'array' }, { type: 'array', items: {} }),
  nested('a union has both', { type: ['object', 'array', 'null'] }, { type: ['object', 'array', 'null'], properties: {}, items: {} }),
  nested(
    'a tuple becomes a choice',
    { type: 'array', minItems: 2, maxItems: 2, items: [{ type: 'number', minimum: 0 }, true] },
    { type: 'array', items: { anyOf: [{ type: 'number' }, {}] } },
  ),
  nested('an empty tuple is any array', { items: [] }, { type: 'array', items: {} }),
  nested(
    'nulls count as absent',
    { type: null, properties: null, items: { type: 'string' } },
    { type: 'array', items: { type: 'string' } },
  ),
  nested('malformed values are left to the provider', { type: 7, enum: 'x', anyOf: {} }, { type: 7, enum: 'x', anyOf: {} }),
  nested('what is no schema is left to the provider', 'string', 'string'),
  {
    name: 'properties that are named like keywords',
    before: JSON.parse(
      '{"type":"object","properties":{"const":{"const":1},"title":true,"type":{"title":"t"},"__proto__":{"title":"t"}}}',
    ) as Json,
    after: JSON.parse('{"type":"object","properties":{"const":{"enum":[1]},"title":{},"type":{},"__proto__":{}}}') as Json,
  },
  { name: 'an empty root', before: {}, after: OBJECT },
  { name: 'a root without type', before: { required: ['a'] }, after: { ...OBJECT, required: ['a'] } },
  { name: 'a root of another type', before: { type: 'string', maxLength: 1 }, after: OBJECT },
  { name: 'a root of types', before: { type: ['object', 'null'], properties: { a: {} } }, after: root({ a: {} }) },
  { name: 'an array as root', before: { type: 'array' }, after: OBJECT },
  { name: 'a true root', before: true, after: OBJECT },
  {
    name: 'a root $ref',
    before: { $ref: '#/$defs/a', $defs: { a: { title: 't' } } },
    after: { ...OBJECT, $ref: '#/$defs/a', $defs: { a: {} } },
  },
  {
    name: 'a root combinator stays beside them',
    before: { anyOf: [{ required: ['a'] }, { title: 't' }] },
    after: { ...OBJECT, anyOf: [{ type: 'object', required: ['a'], properties: {} }, {}] },
  },
];

const BEFORE: JsonObject = { title: 'Args', properties: { a: { const: 1 } } };
const AFTER: JsonObject = root({ a: { enum: [1] } });
const func = (members: JsonObject): JsonObject => ({ type: 'function', name: 'f', ...members });

const KINDS = ['responses', 'public-responses'] as const;

/** The functions that are lowered; everything else stays unchanged. */
export const LOWERED_TOOLS: readonly Case[] = KINDS.flatMap((kind): Case[] => [
  ...LOWERINGS.map(
    ({ name, before, after }): Case => ({
      clause: 'F5.1',
      kind,
      name,
      body: asks({ tools: [func({ strict: false, parameters: before })] }),
      sends: { tools: [func({ strict: false, parameters: after })] },
    }),
  ),
  ...([undefined, null, 'true', 1] as const).map(
    (strict): Case => ({
      clause: 'F5.1',
      kind,
      name: `strict ${JSON.stringify(strict)} is not strict`,
      body: asks({ tools: [func({ parameters: BEFORE, ...(strict === undefined ? {} : { strict }) })] }),
      sends: { tools: [func({ parameters: AFTER, ...(strict === undefined ? {} : { strict }) })] },
    }),
  ),
  {
    clause: 'F5.1',
    kind,
    name: 'the function tools of a namespace',
    body: asks({ tools: [{ type: 'namespace', name: 'crm', tools: [{ type: 'custom', name: 'c' }, func({ parameters: BEFORE })] }] }),
    sends: { tools: [{ type: 'namespace', name: 'crm', tools: [{ type: 'custom', name: 'c' }, func({ parameters: AFTER })] }] },
  },
  {
    clause: 'F5.1',
    kind,
    name: 'the older wrapper',
    body: asks({ tools: [{ type: 'function', function: { name: 'f', parameters: BEFORE } }] }),
    sends: { tools: [{ type: 'function', function: { name: 'f', parameters: AFTER } }] },
  },
  {
    clause: 'F5.1',
    kind,
    name: 'a strict function stays',
    body: asks({ tools: [func({ strict: true, parameters: { ...OBJECT, title: 'kept' } })] }),
  },
  {
    clause: 'F5.1',
    kind,
    name: 'a strict function of a namespace stays',
    body: asks({ tools: [{ type: 'namespace', name: 'crm', tools: [func({ strict: true, parameters: { ...OBJECT, title: 'kept' } })] }] }),
  },
  {
    clause: 'F5.1',
    kind,
    name: 'functions without parameters stay',
    body: asks({ tools: [func({}), func({ name: 'g', parameters: null })] }),
  },
  {
    clause: 'F5.1',
    kind,
    name: 'function tools only',
    body: asks({
      tools: [
        { type: 'web_search', parameters: BEFORE },
        { type: 'image_generation', parameters: BEFORE },
      ],
    }),
  },
  {
    clause: 'F2.11',
    kind,
    name: 'declarations inside input stay as sent',
    body: asks({ input: [{ type: 'additional_tools', role: 'developer', tools: [func({ parameters: BEFORE })] }] }),
  },
]);
