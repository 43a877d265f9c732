// Refuses function schemas with keywords that the backend does not accept in a non-strict schema (Q31).
import { asList, isObject, type Json } from '../../turn/json/json.ts';
import { SimulatedError } from '../provider-error.ts';

/** The refused keywords, each with the form in which its value contains schemas. */
const KEYWORDS: ReadonlyMap<string, 'none' | 'schema' | 'list' | 'named'> = new Map([
  ['$ref', 'none'],
  ['description', 'none'],
  ['type', 'none'],
  ['enum', 'none'],
  ['required', 'none'],
  ['properties', 'named'],
  ['items', 'schema'],
  ['additionalProperties', 'schema'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['allOf', 'list'],
  ['$defs', 'named'],
  ['definitions', 'named'],
]);

/** @throws SimulatedError `invalid_function_parameters` for the first non-strict function schema with one of the keywords */
export function refuseUnloweredSchemas(tools: readonly Json[], path: string): void {
  for (const [i, tool] of tools.entries()) {
    if (!isObject(tool)) continue;
    if (tool.type === 'namespace') refuseUnloweredSchemas(asList(tool.tools), `${path}.${i}.tools`);
    if (tool.type !== 'function' || tool.strict === true || !isObject(tool.parameters)) continue;
    const param = `${path}.${i}.parameters`;
    if (tool.parameters.type !== 'object') refuse(param, 'the root has no type object');
    walk(tool.parameters, param);
  }
}

function walk(schema: Json | undefined, param: string): void {
  if (!isObject(schema)) refuse(param, 'a schema is an object here');
  for (const [keyword, value] of Object.entries(schema)) {
    const inside = KEYWORDS.get(keyword);
    if (inside === undefined) refuse(param, `the keyword ${keyword} is not supported`);
    if (inside === 'named' && isObject(value)) for (const child of Object.values(value)) walk(child, param);
    if (inside === 'list') for (const child of asList(value)) walk(child, param);
    if (inside === 'schema' && !(keyword === 'additionalProperties' && typeof value === 'boolean')) walk(value, param);
  }
}

function refuse(param: string, what: string): never {
  throw new SimulatedError(400, 'invalid_function_parameters', `Invalid schema for function: ${what}.`, param);
}
