// Checks whether data fits the schema, without compiling it. Ajv also reports what is wrong, but compiling the schema takes an eighth of
// the start. Data with an unsupported keyword counts as not fitting, so that Ajv decides.

type Node = Readonly<Record<string, unknown>>;
type Keyword = (wanted: never, value: unknown, node: Node, root: Node) => boolean;

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  array: Array.isArray,
  boolean: (value) => typeof value === 'boolean',
  integer: Number.isInteger,
  null: (value) => value === null,
  number: Number.isFinite,
  object: isObject,
  string: (value) => typeof value === 'string',
};

/** Makes the check of a keyword for numbers. The keyword has no effect on values of another type. */
const ofNumber = (holds: (wanted: number, value: number) => boolean) => (wanted: number, value: unknown) =>
  typeof value !== 'number' || holds(wanted, value);
const ofText =
  <Wanted>(holds: (wanted: Wanted, value: string) => boolean) =>
  (wanted: Wanted, value: unknown) =>
    typeof value !== 'string' || holds(wanted, value);
const ofList = (holds: (wanted: number, value: readonly unknown[]) => boolean) => (wanted: number, value: unknown) =>
  !Array.isArray(value) || holds(wanted, value);
const ofMapping = (holds: (wanted: number, value: object) => boolean) => (wanted: number, value: unknown) =>
  !isObject(value) || holds(wanted, value);
const said = (): boolean => true;

const patterns = new Map<string, RegExp>();

function matches(pattern: string, text: string): boolean {
  const known = patterns.get(pattern) ?? new RegExp(pattern, 'u');
  patterns.set(pattern, known);
  return known.test(text);
}

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  $schema: said,
  title: said,
  description: said,
  errorMessage: said,
  restart: said,
  definitions: said,
  // The default of a missing member.
  default: said,
  type: (wanted: string | readonly string[], value) => [wanted].flat().some((type) => TYPES[type]?.(value)),
  enum: (wanted: readonly unknown[], value) => wanted.includes(value),
  const: (wanted: unknown, value) => wanted === value,
  minimum: ofNumber((least, value) => value >= least),
  exclusiveMinimum: ofNumber((bound, value) => value > bound),
  maximum: ofNumber((most, value) => value <= most),
  minLength: ofText((least: number, text) => [...text].length >= least),
  maxLength: ofText((most: number, text) => text.length <= most || [...text].length <= most),
  pattern: ofText(matches),
  minItems: ofList((least, { length }) => length >= least),
  maxItems: ofList((most, { length }) => length <= most),
  uniqueItems: (_, value) =>
    !Array.isArray(value) || (!value.some((item) => typeof item === 'object') && new Set(value).size === value.length),
  items: (wanted: Node, value, _, root) => !Array.isArray(value) || value.every((item) => fitsNode(wanted, item, root)),
  minProperties: ofMapping((least, value) => Object.keys(value).length >= least),
  maxProperties: ofMapping((most, value) => Object.keys(value).length <= most),
  propertyNames: (wanted: Node, value, _, root) => !isObject(value) || Object.keys(value).every((name) => fitsNode(wanted, name, root)),
  required: (wanted: readonly string[], value) => !isObject(value) || wanted.every((name) => value[name] !== undefined),
  properties: (wanted: Readonly<Record<string, Node>>, value, _, root) =>
    !isObject(value) || Object.entries(wanted).every(([name, node]) => value[name] === undefined || fitsNode(node, value[name], root)),
  additionalProperties: (wanted: boolean | Node, value, { properties = {} }, root) =>
    !isObject(value) ||
    Object.keys(value).every(
      (name) => Object.hasOwn(properties as object, name) || (typeof wanted === 'boolean' ? wanted : fitsNode(wanted, value[name], root)),
    ),
  $ref: (wanted: string, value, _, root) => {
    const { [wanted.replace('#/definitions/', '')]: target } = root.definitions as Readonly<Record<string, Node>>;
    return target !== undefined && fitsNode(target, value, root);
  },
  oneOf: (wanted: readonly Node[], value, _, root) => wanted.filter((node) => fitsNode(node, value, root)).length === 1,
  not: (wanted: Node, value, _, root) => !fitsNode(wanted, value, root),
};

function fitsNode(node: Node, value: unknown, root: Node): boolean {
  if (isObject(value)) fillIn(node, value);
  return Object.entries(node).every(([name, wanted]) => KEYWORDS[name]?.(wanted as never, value, node, root));
}

/** Fills in the defaults of missing members, which are then checked like other members. */
function fillIn({ properties = {} }: Node, value: Record<string, unknown>): void {
  for (const [name, node] of Object.entries(properties as Readonly<Record<string, Node>>)) {
    if (node.default !== undefined && value[name] === undefined) value[name] = structuredClone(node.default);
  }
}

/** @param data the data, into which defaults are written */
export const fits = (schema: object, data: unknown): boolean => fitsNode(schema as Node, data, schema as Node);
