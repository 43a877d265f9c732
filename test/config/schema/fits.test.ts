// The schema check accepts exactly what Ajv accepts, for each keyword and for changed copies of the shipped file; Ajv is used only to
// describe the errors.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { Ajv } from 'ajv';
import { parseDocument } from 'yaml';
import { fits } from '../../../proxy/config/schema/fits.ts';
import { type SchemaNode, schema } from '../../../proxy/config/schema/schema.ts';

const ajv = new Ajv({ validateSchema: false, useDefaults: true, strict: false, strictNumbers: true });
const { definitions } = schema;

const text = readFileSync(new URL('../../../config.yaml', import.meta.url), 'utf8');
const { routes, ...rest } = parseDocument(text).toJS() as { readonly routes: readonly unknown[] };
/** A few rows of routes are enough, because all rows have the same form. */
const SHIPPED = { ...rest, routes: routes.slice(0, 4) };

const VALUES: readonly unknown[] = [
  ...[null, true, false, -1, 0, 0.5, 1, 2, 9, 10, 1_000, 1e12, Number.NaN, Number.POSITIVE_INFINITY],
  ...[
    '',
    'a',
    'A',
    'a-b',
    'a b',
    'unix',
    '10.0.0.0/8',
    '1',
    '9',
    '10',
    'x'.repeat(64),
    'x'.repeat(5_000),
    '😀'.repeat(150),
    'https://a.example',
  ],
  ...[
    '127.0.0.1',
    '2027-01-01T00:00:00Z',
    'f'.repeat(64),
    'sqlite:x.db',
    'rehearsal:',
    'none',
    'Content-Type',
    'a: b',
    '/v1/x',
    '$' + '{HOME}',
  ],
  ...[[], ['a'], ['a', 'a'], ['a', 'b'], [1, 1], [{}], [{}, {}], Array.from({ length: 40 }, (_, i) => `a${i}`)],
  ...[
    {},
    { a: 1 },
    { a: 'b' },
    { 'a b': 'c' },
    { env: 'A' },
    { file: 'a' },
    { env: 'A', file: 'b' },
    { name: 'x-a', env: 'B' },
    { '1': {} },
  ],
  ...[{ GET: '/v1/a', status: 'supported' }, { GET: '/v1/a', POST: '/v1/a', status: 'supported' }, { status: 'unsupported' }],
  ...[{ bearer: { env: 'A' } }, { host: '127.0.0.1', port: 1 }, { id: 'a' }, { account: 'a' }, { max: 1 }, { always: 'low' }],
];

/** Values at and next to the bounds of a schema node. */
const boundsOf = ({ minimum, exclusiveMinimum, maximum, maxLength, enum: words = [], default: usual }: SchemaNode): readonly unknown[] => [
  ...[minimum, exclusiveMinimum, maximum].flatMap((bound) => (bound === undefined ? [] : [bound - 1, bound, bound + 1])),
  ...(maxLength === undefined ? [] : ['x'.repeat(maxLength), 'x'.repeat(maxLength + 1), '😀'.repeat(maxLength)]),
  ...words,
  ...(usual === undefined ? [] : [usual]),
];

function* nodesIn(node: object, path: string): Generator<readonly [path: string, node: SchemaNode]> {
  yield [path, node as SchemaNode];
  for (const [keyword, value] of Object.entries(node)) {
    if (keyword === 'properties' || keyword === 'definitions') {
      for (const [name, child] of Object.entries(value as object)) yield* nodesIn(child as object, `${path}/${name}`);
    } else if (['items', 'propertyNames', 'not'].includes(keyword) || (keyword === 'additionalProperties' && typeof value === 'object')) {
      yield* nodesIn(value as object, `${path}/${keyword}`);
    } else if (keyword === 'oneOf') for (const [i, one] of (value as object[]).entries()) yield* nodesIn(one, `${path}/oneOf/${i}`);
  }
}

test('each node of the schema accepts what Ajv accepts, and fills in the same defaults', () => {
  let accepted = 0;
  for (const [path, node] of nodesIn(schema, '')) {
    const whole = { ...node, definitions };
    const check = ajv.compile(whole);
    for (const value of [...VALUES, ...boundsOf(node)]) {
      const [own, theirs] = [structuredClone(value), structuredClone(value)];
      // Equal mappings in a list of unique values are left to Ajv.
      const isLeft = JSON.stringify(value) === '[{}]' && (node as { uniqueItems?: boolean }).uniqueItems === true;
      const isAccepted = check(theirs);
      assert.equal(fits(whole, own), isAccepted && !isLeft, `${path}: ${inspect(value)}`);
      if (!isAccepted) continue;
      accepted += 1;
      assert.deepEqual(own, theirs, path);
    }
  }
  assert.ok(accepted > 1_000);
});

/** Copies of a value that differ at one place: another value, one member less, or one more. */
function* changed(value: unknown): Generator<unknown> {
  yield* [null, true, -1, 1.5, 'x', [], {}];
  if (Array.isArray(value)) {
    for (const [i, item] of value.entries()) for (const other of changed(item)) yield value.with(i, other);
    if (value.length > 0) yield [...value, value[0]];
  } else if (typeof value === 'object' && value !== null) {
    for (const [name, member] of Object.entries(value)) {
      const { [name as keyof typeof value]: _, ...rest } = value;
      yield rest;
      for (const other of changed(member)) yield { ...value, [name]: other };
    }
    yield { ...value, unknown_setting: 1 };
  }
}

test('the shipped file fits, and of its changed copies those that Ajv accepts', () => {
  const check = ajv.compile(schema);
  assert.ok(fits(schema, structuredClone(SHIPPED)));
  let [accepted, refused] = [0, 0];
  for (const other of changed(SHIPPED)) {
    const [own, theirs] = [structuredClone(other), structuredClone(other)];
    const isAccepted = check(theirs);
    if (fits(schema, own) !== isAccepted) assert.fail(`${isAccepted}: ${JSON.stringify(check.errors)}`);
    if (isAccepted) assert.deepEqual(own, theirs);
    if (isAccepted) accepted += 1;
    else refused += 1;
  }
  assert.ok(accepted > 100 && refused > 1_000, `${accepted} and ${refused}`);
});
