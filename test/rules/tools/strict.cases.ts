// Strict schemas of the compatible surface: their roots, their `type` values, and the one repair.
import type { ErrorCode } from '../../../proxy/turn/errors/refusal.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { asks, asksOnChat, type Case, type Refused } from './case.ts';

const closed = (properties: JsonObject): JsonObject => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const ROOT = closed({ a: { type: 'string' } });
const strict = (parameters: Json): JsonObject => ({ type: 'function', name: 'f', strict: true, parameters });
const format = (schema: Json | undefined, flag: Json = true): JsonObject =>
  asks({ text: { format: { type: 'json_schema', name: 'answer', strict: flag, ...(schema === undefined ? {} : { schema }) } } });

const NO_OBJECT_ROOTS: readonly (readonly [string, Json])[] = [
  ['a root $ref', { $ref: '#/$defs/a', $defs: { a: ROOT } }],
  ['a root $ref beside an object', { ...ROOT, $ref: '#/$defs/a', $defs: { a: ROOT } }],
  ['a root anyOf', { anyOf: [ROOT, ROOT] }],
  ['a root anyOf beside an object', { ...ROOT, anyOf: [ROOT] }],
  ['a root oneOf beside an object', { ...ROOT, oneOf: [ROOT] }],
  ['a root allOf', { allOf: [ROOT] }],
  ['no root type', { properties: {} }],
  ['another root type', { type: 'array', items: { type: 'string' } }],
  ['a list of root types', { type: ['object', 'null'], properties: {} }],
  ['a list of one root type', { type: ['object'], properties: {} }],
  ['a boolean', true],
  ['a list', [ROOT]],
  ['a word', 'object'],
  ['nothing', {}],
];

const NESTED: JsonObject = {
  ...closed({ a: { $ref: '#/$defs/b' }, c: { anyOf: [{ type: 'string' }, { type: 'null' }] }, type: { type: ['string', 'null'] } }),
  $defs: { b: { type: 'array', items: { $ref: '#' } } },
};

const at = (code: ErrorCode, param: string): Refused => ({ code, param });

const asking = (kind: Case['kind'], members: JsonObject): JsonObject => (kind === 'chat' ? asksOnChat(members) : asks(members));

export const STRICT_FORMATS: readonly Case[] = [
  ...NO_OBJECT_ROOTS.map(
    ([name, schema]): Case => ({
      clause: 'F5.7',
      kind: 'public-responses',
      name: `structured output, ${name}`,
      body: format(schema),
      refused: at('invalid_json_schema', 'text.format.schema'),
    }),
  ),
  ...NO_OBJECT_ROOTS.map(
    ([name, schema]): Case => ({
      clause: 'F5.7',
      kind: 'chat',
      name: `structured output, ${name}`,
      body: asksOnChat({ response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } } }),
      refused: at('invalid_json_schema', 'response_format.json_schema.schema'),
    }),
  ),
  {
    clause: 'F5.7',
    kind: 'public-responses',
    name: 'structured output, no schema',
    body: format(undefined),
    refused: at('invalid_json_schema', 'text.format.schema'),
  },
  { clause: 'F5.7', kind: 'public-responses', name: 'structured output, nested refs and alternatives', body: format(NESTED) },
  { clause: 'Q16', kind: 'public-responses', name: 'strict as a word is not strict', body: format({ anyOf: [ROOT] }, 'true') },
  { clause: 'Q16', kind: 'public-responses', name: 'strict null is not strict', body: format({ anyOf: [ROOT] }, null) },
  {
    clause: 'F5.7',
    kind: 'public-responses',
    name: 'a format of another type',
    body: asks({ text: { format: { type: 'text', strict: true } } }),
  },
  ...([null, 'text', [], { format: null }, { format: [] }] as const).map(
    (text): Case => ({ clause: 'F5.7', kind: 'public-responses', name: `text ${JSON.stringify(text)}`, body: asks({ text }) }),
  ),
];

/** A tool without parameters. */
const beside = (kind: Case['kind']): Json => (kind === 'chat' ? { type: 'custom', custom: { name: 'c' } } : { type: 'web_search' });

const HOLDERS: readonly (readonly [string, Case['kind'], (parameters: Json) => Json, string])[] = [
  ['flat', 'public-responses', strict, 'tools.1.parameters'],
  [
    'wrapped',
    'public-responses',
    (parameters) => ({ type: 'function', function: { name: 'f', strict: true, parameters } }),
    'tools.1.function.parameters',
  ],
  [
    'wrapped, strict outside',
    'public-responses',
    (parameters) => ({ type: 'function', strict: true, function: { name: 'f', parameters } }),
    'tools.1.function.parameters',
  ],
  [
    'wrapped on Chat',
    'chat',
    (parameters) => ({ type: 'function', function: { name: 'f', strict: true, parameters } }),
    'tools.1.function.parameters',
  ],
  [
    'in a namespace',
    'public-responses',
    (parameters) => ({ type: 'namespace', name: 'crm', tools: [{ type: 'custom', name: 'c' }, strict(parameters)] }),
    'tools.1.tools.1.parameters',
  ],
];

export const STRICT_PARAMETERS: readonly Case[] = [
  ...HOLDERS.flatMap(([holder, kind, hold, param]): Case[] => [
    ...NO_OBJECT_ROOTS.map(
      ([name, parameters]): Case => ({
        clause: 'F5.7',
        kind,
        name: `${holder} function, ${name}`,
        body: asking(kind, { tools: [beside(kind), hold(parameters)] }),
        refused: at('invalid_function_parameters', param),
      }),
    ),
    {
      clause: 'F5.7',
      kind,
      name: `${holder} function, nested refs`,
      body: asking(kind, { tools: [beside(kind), hold(NESTED)] }),
    },
    {
      clause: 'F5.7',
      kind,
      name: `${holder} function, null parameters`,
      body: asking(kind, { tools: [beside(kind), hold(null)] }),
    },
  ]),
  {
    clause: 'F5.7',
    kind: 'public-responses',
    name: 'a strict function in additional_tools',
    body: asks({ input: [{ type: 'additional_tools', role: 'developer', tools: [strict({ anyOf: [] })] }] }),
    refused: at('invalid_function_parameters', 'input.0.tools.0.parameters'),
  },
];

const BAD_TYPES: readonly Json[] = [
  null,
  7,
  true,
  {},
  '',
  'String',
  'date',
  '__proto__',
  [],
  [7],
  ['string', null],
  ['string', 'string'],
  ['string', 'date'],
  [['string']],
];

const NODES: readonly (readonly [string, (node: Json) => JsonObject])[] = [
  ['a property', (node) => closed({ a: node })],
  ['items', (node) => closed({ a: { type: 'array', items: node } })],
  ['a definition', (node) => ({ ...ROOT, $defs: { d: node } })],
  ['an older definition', (node) => ({ ...ROOT, definitions: { d: node } })],
  ['an alternative', (node) => closed({ a: { anyOf: [{ type: 'string' }, node] } })],
  ['a property of a node that is not repaired', (node) => closed({ a: { description: 'x', properties: { b: node } } })],
];

function looseTool(kind: Case['kind'], flag: Json | undefined): Json {
  const members = { name: 'f', parameters: { type: 'object', properties: {}, anyOf: [ROOT] }, strict: flag };
  return kind === 'chat' ? { type: 'function', function: members } : { type: 'function', ...members };
}

/** Roots that are refused only for a strict function. */
export const LOOSE_PARAMETERS: readonly Case[] = (['public-responses', 'chat'] as const).flatMap((kind) =>
  ([undefined, null, false, 'true', 1] as const).map(
    (flag): Case => ({
      clause: 'Q16',
      kind,
      name: `strict ${JSON.stringify(flag)} leaves the root alone`,
      body: asking(kind, { tools: [looseTool(kind, flag)] }),
    }),
  ),
);

export const TYPE_VALUES: readonly Case[] = [
  ...BAD_TYPES.flatMap((type) =>
    NODES.map(
      ([where, within]): Case => ({
        clause: 'F5.6',
        kind: 'public-responses',
        name: `type ${JSON.stringify(type)} in ${where}`,
        body: asks({ tools: [{ type: 'web_search' }, strict(within({ type }))] }),
        refused: at('invalid_function_parameters', 'tools.1.parameters'),
      }),
    ),
  ),
  {
    clause: 'F5.6',
    kind: 'public-responses',
    name: 'values that only look like types',
    body: asks({
      tools: [
        strict({ ...closed({ type: { type: 'string', enum: ['date', { type: 7 }], default: { type: 7 } } }), 'x-note': { type: 7 } }),
      ],
    }),
  },
  {
    clause: 'F5.6',
    kind: 'public-responses',
    name: 'a bad type of a function that is not strict is left to the provider',
    body: asks({ tools: [{ ...strict(closed({ a: { type: 'date' } })), strict: false }] }),
  },
];

const untyped = ({ type: _, ...rest }: JsonObject): JsonObject => rest;
const LEAF = { type: 'string' };
const BARE_OBJECT = untyped(closed({ b: LEAF }));
const BARE_ARRAY = { items: LEAF };

interface Repair {
  readonly name: string;
  readonly before: Json;
  readonly after: Json;
}

const REPAIRED: readonly Repair[] = [
  { name: 'an object', before: BARE_OBJECT, after: closed({ b: LEAF }) },
  { name: 'an empty object', before: untyped(closed({})), after: closed({}) },
  { name: 'an array', before: BARE_ARRAY, after: { type: 'array', ...BARE_ARRAY } },
  { name: 'an array of objects', before: { items: BARE_OBJECT }, after: { type: 'array', items: closed({ b: LEAF }) } },
  {
    name: 'an object in an object',
    before: untyped(closed({ b: BARE_OBJECT, c: BARE_ARRAY })),
    after: closed({ b: closed({ b: LEAF }), c: { type: 'array', ...BARE_ARRAY } }),
  },
  {
    name: 'within an explicit object with a description',
    before: { ...closed({ b: BARE_OBJECT }), description: 'x' },
    after: { ...closed({ b: closed({ b: LEAF }) }), description: 'x' },
  },
  {
    name: 'within an explicit nullable array',
    before: { type: ['array', 'null'], items: BARE_OBJECT },
    after: { type: ['array', 'null'], items: closed({ b: LEAF }) },
  },
];

const IN_DOUBT: readonly (readonly [string, Json])[] = [
  ['nothing', {}],
  ['a boolean', true],
  ['properties alone', { properties: { b: LEAF } }],
  ['no required', { properties: { b: LEAF }, additionalProperties: false }],
  ['no additionalProperties', { properties: { b: LEAF }, required: ['b'] }],
  ['open additionalProperties', { ...BARE_OBJECT, additionalProperties: true }],
  ['a schema as additionalProperties', { ...BARE_OBJECT, additionalProperties: LEAF }],
  ['not everything required', { ...BARE_OBJECT, required: [] }],
  ['something else required', { ...BARE_OBJECT, required: ['c'] }],
  ['more required', { ...BARE_OBJECT, required: ['b', 'c'] }],
  ['required twice', { ...BARE_OBJECT, required: ['b', 'b'] }],
  ['required that is no list', { ...BARE_OBJECT, required: 'b' }],
  ['properties that are no schemas', { ...BARE_OBJECT, properties: { b: true } }],
  ['properties that are no object', { ...BARE_OBJECT, properties: [], required: [] }],
  ['both structures', { ...BARE_OBJECT, items: LEAF }],
  ['an annotation', { ...BARE_OBJECT, description: 'x' }],
  ['an annotation of an array', { ...BARE_ARRAY, title: 'x' }],
  ['an unknown keyword', { ...BARE_OBJECT, 'x-order': 1 }],
  ['a bound', { ...BARE_ARRAY, minItems: 1 }],
  ['an enum', { ...BARE_OBJECT, enum: [{}] }],
  ['a reference', { ...BARE_OBJECT, $ref: '#' }],
  ['a combinator', { ...BARE_OBJECT, anyOf: [LEAF] }],
  ['definitions', { ...BARE_OBJECT, $defs: {} }],
  ['inside a combinator', { anyOf: [BARE_OBJECT, BARE_ARRAY] }],
  ['inside an object with a combinator', { ...closed({ b: BARE_OBJECT }), allOf: [LEAF] }],
  ['inside a string', { type: 'string', properties: { b: BARE_OBJECT } }],
  ['the items of an object', { ...closed({}), items: BARE_OBJECT }],
  ['inside a node in doubt', { description: 'x', ...untyped(closed({ b: BARE_OBJECT })) }],
  ['items that say nothing', { items: {} }],
  ['boolean items', { items: true }],
  ['a tuple', { items: [LEAF] }],
];

const unrepaired = (kind: Case['kind'], name: string, tools: Json): Case => ({ clause: 'F5.6', kind, name, body: asks({ tools }) });

export const STRICT_REPAIR: readonly Case[] = [
  ...REPAIRED.map(
    ({ name, before, after }): Case => ({
      clause: 'F5.6',
      kind: 'public-responses',
      name: `repaired: ${name}`,
      body: asks({ tools: [{ type: 'web_search' }, strict(closed({ a: before, z: LEAF }))] }),
      sends: { tools: [{ type: 'web_search' }, strict(closed({ a: after, z: LEAF }))] },
    }),
  ),
  ...IN_DOUBT.map(([name, node]) => unrepaired('public-responses', `in doubt: ${name}`, [strict(closed({ a: node }))])),
  unrepaired('public-responses', 'definition tables', [strict({ ...ROOT, $defs: { d: BARE_OBJECT }, definitions: { d: BARE_ARRAY } })]),
  unrepaired('public-responses', 'the older wrapper', [
    { type: 'function', function: { name: 'f', strict: true, parameters: closed({ a: BARE_OBJECT }) } },
  ]),
  unrepaired('public-responses', 'a flat function beside the older wrapper', [
    { ...strict(closed({ a: BARE_OBJECT })), function: { name: 'f' } },
  ]),
  unrepaired('public-responses', 'a child of a namespace', [
    { type: 'namespace', name: 'crm', tools: [strict(closed({ a: BARE_OBJECT }))] },
  ]),
  unrepaired('responses', 'native routes', [strict(closed({ a: BARE_OBJECT }))]),
  unrepaired('chat', 'Chat Completions', [
    { type: 'function', function: { name: 'f', strict: true, parameters: closed({ a: BARE_OBJECT }) } },
  ]),
  { clause: 'F5.6', kind: 'public-responses', name: 'structured outputs', body: format(closed({ a: BARE_OBJECT })) },
];
