// Describes for operators where data does not fit schema.json.
import { Ajv, type ErrorObject } from 'ajv';
import type { Path, Problem } from './finding.ts';
import { resolved, type SchemaNode, schema, settings } from './schema.ts';
import { isWord } from './setting-names.ts';
import { suggestion } from './suggestion.ts';

// `verbose` adds the schema node and the value to each error, for its message. Validating the schema itself, which a test does, and
// optimising the code would take 40 ms.
const ajv = new Ajv({
  validateSchema: false,
  code: { optimize: false },
  allErrors: true,
  verbose: true,
  useDefaults: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  strictTypes: false,
});
ajv.addKeyword('errorMessage').addKeyword('restart');
const check = ajv.compile(schema);

/** Setting paths by their last key, used to suggest the right place of a misplaced key. */
const homes = Map.groupBy(
  [...settings()].map(({ path }) => path).filter((path) => !path.startsWith('routes[]')),
  (path) => path.slice(path.lastIndexOf('.') + 1),
);

/** @param data the data, into which defaults are written @returns the problems; if a value has several, the most useful one comes first */
export function problemsOf(data: unknown): readonly Problem[] {
  if (check(data)) return [];
  return (check.errors ?? []).flatMap((error) => problemOf(error, data) ?? []);
}

function problemOf(error: ErrorObject, data: unknown): Problem | undefined {
  const { keyword, params, propertyName } = error;
  // The message of a choice covers its branches. An invalid property name is reported by an error of its own.
  if (/\/(?:oneOf|not)\//.test(error.schemaPath) || keyword === 'propertyNames') return undefined;
  const path = pathOf(error.instancePath, data);
  const node = (error.parentSchema ?? {}) as SchemaNode;
  if (propertyName !== undefined) return { path: [...path, propertyName], at: 'key', message: expected(node) };
  switch (keyword) {
    case 'additionalProperties':
      return { path: [...path, params.additionalProperty], at: 'key', message: unknownKey(params.additionalProperty, node, path) };
    case 'required':
      return { path, at: 'first-key', message: `'${params.missingProperty}' is missing` };
    case 'uniqueItems':
      return { path: [...path, Math.max(params.i, params.j)], message: 'this value is listed twice' };
    default:
      return { path, message: expected(node) + hint(node, error.data) };
  }
}

function unknownKey(key: string, parent: SchemaNode, at: Path): string {
  const known = Object.keys(parent.properties ?? {});
  const meant = suggestion(key, known);
  if (meant) return `unknown key${meant}`;
  const [home, ...others] = homes.get(key) ?? [];
  if (home !== undefined && others.length === 0 && isNear(home, at)) return `unknown key; did you mean '${home}'?`;
  return `unknown key; known here: ${known.join(', ')}`;
}

/** Whether a setting may be meant that has another place: a setting of a section or a row, or one below this place. */
const isNear = (home: string, at: Path): boolean =>
  home.split('.').length <= 2 ||
  home.startsWith(
    at
      .map((step) => (typeof step === 'number' ? '[]' : `.${step}`))
      .join('')
      .slice(1),
  );

/** The path of a pointer such as `/accounts/0/base_url`, as keys and indexes. A number is an index only inside a list. */
function pathOf(pointer: string, data: unknown): Path {
  const path: (string | number)[] = [];
  let value = data;
  for (const token of pointer.split('/').slice(1)) {
    const word = token.replaceAll('~1', '/').replaceAll('~0', '~');
    const step = Array.isArray(value) ? Number(word) : word;
    path.push(step);
    value = (value as Record<string | number, unknown>)[step];
  }
  return path;
}

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'a mapping',
  string: 'text',
};

/** The end of a message, such as `must be a whole number from 60000 to 3600000`. */
function expected(node: SchemaNode): string {
  if (node.errorMessage !== undefined) return node.errorMessage;
  if (node.enum) return `must be ${choice(node.enum)}`;
  const type = typeof node.type === 'string' ? (TYPES[node.type] ?? node.type) : 'another value';
  return `must be ${type}${bounds(node)}`;
}

export function bounds({ minimum, exclusiveMinimum, maximum, maxLength }: SchemaNode): string {
  if (maxLength !== undefined) return ` of at most ${maxLength} characters`;
  const least = minimum ?? exclusiveMinimum;
  const above = minimum === undefined ? ' above' : ' of at least';
  if (least === undefined) return maximum === undefined ? '' : ` of at most ${maximum}`;
  if (maximum === undefined) return `${above} ${least}`;
  return minimum === undefined ? ` above ${least}, at most ${maximum}` : ` from ${minimum} to ${maximum}`;
}

/** A likely correction of the value, or ''. The value is repeated only if it is a plain word close to a known one. */
function hint(schema: SchemaNode, value: unknown): string {
  const node = resolved(schema);
  if (value === null) return '; the value is missing: remove the key, or give it a value';
  if ((typeof value === 'number' || typeof value === 'boolean') && node.type === 'string')
    return `; YAML reads this as a ${typeof value}: quote it`;
  if (typeof value !== 'string') return '';
  if (value.includes('${')) return node.errorMessage?.includes('interpolated') ? '' : '; nothing is interpolated in this file';
  if (node.enum && isWord(value)) return suggestion(value, node.enum);
  const wants = [node.type].flat();
  if (wants.includes('boolean') && /^(?:yes|on|true)$/i.test(value)) return "; did you mean 'true'?";
  if (wants.includes('boolean') && /^(?:no|off|false)$/i.test(value)) return "; did you mean 'false'?";
  if ((wants.includes('integer') || wants.includes('number')) && /^-?[\d_]+(?:\.\d+)?$/.test(value))
    return '; write it without quotes or underscores';
  return '';
}

const choice = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`;
