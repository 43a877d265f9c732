// Checks data against schema.json, fills its defaults in, and says what is wrong in an operator's words.
import { Ajv, type ErrorObject } from 'ajv';
import { expected, hint } from './expectations.ts';
import type { Path, Problem } from './finding.ts';
import { type SchemaNode, schema, settings } from './schema.ts';
import { suggestion } from './suggestion.ts';

// `verbose` hands us the schema and the value of each fault, from which its message is made.
const ajv = new Ajv({
  allErrors: true,
  verbose: true,
  useDefaults: true,
  strict: true,
  strictRequired: false,
  allowUnionTypes: true,
  strictTypes: false,
});
ajv.addKeyword('errorMessage').addKeyword('restart').addKeyword('inert');
const check = ajv.compile(schema);

/** Settings by their last key: a known key at a wrong place is told where it belongs. */
const homes = Map.groupBy(
  [...settings()].map(({ path }) => path).filter((path) => !path.startsWith('routes[]')),
  (path) => path.slice(path.lastIndexOf('.') + 1),
);

/**
 * @param data A plain copy of the file's content; missing settings are filled in, in place, with the schema's defaults.
 * @returns What does not fit; of one value perhaps several ways, the telling one first.
 */
export function validate(data: unknown): readonly Problem[] {
  if (check(data)) return [];
  return (check.errors ?? []).flatMap((error) => problemOf(error, data) ?? []);
}

function problemOf(error: ErrorObject, data: unknown): Problem | undefined {
  const { keyword, params, propertyName } = error;
  // What the branches of a choice say is summed up by the choice's own message; what a name does wrong is told at the name.
  if (/\/(?:oneOf|not)\//.test(error.schemaPath) || keyword === 'propertyNames') return undefined;
  const path = pathOf(error.instancePath, data);
  const node = (error.parentSchema ?? {}) as SchemaNode;
  if (propertyName !== undefined) return { path: [...path, propertyName], at: 'key', message: expected(node) };
  switch (keyword) {
    case 'additionalProperties':
      return { path: [...path, params.additionalProperty], at: 'key', message: unknownKey(params.additionalProperty, node) };
    case 'required':
      return { path, at: 'first-key', message: `'${params.missingProperty}' is missing` };
    case 'uniqueItems':
      return { path: [...path, Math.max(params.i, params.j)], message: 'this stands twice in its list' };
    default:
      return { path, message: expected(node) + hint(node, error.data) };
  }
}

function unknownKey(key: string, parent: SchemaNode): string {
  const known = Object.keys(parent.properties ?? {});
  const meant = suggestion(key, known);
  if (meant) return `unknown key${meant}`;
  const [home, ...others] = homes.get(key) ?? [];
  if (home !== undefined && others.length === 0) return `unknown key; did you mean '${home}'?`;
  return `unknown key; known here: ${known.join(', ')}`;
}

/** `/accounts/0/base_url` as keys and indexes; a number is an index only where a list stands. */
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
