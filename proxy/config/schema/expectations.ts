// Describes the value that a schema node expects, and a likely correction of a wrong value.
import { resolved, type SchemaNode } from './schema.ts';
import { isWord } from './setting-names.ts';
import { suggestion } from './suggestion.ts';

const TYPES: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  integer: 'a whole number',
  number: 'a number',
  object: 'a mapping',
  string: 'text',
};

/** The end of a message, such as `must be a whole number from 60000 to 3600000`. */
export function expected(node: SchemaNode): string {
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
export function hint(schema: SchemaNode, value: unknown): string {
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
