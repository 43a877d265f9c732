// Fills in a missing nested `type` of a strict flat function if its structure is unambiguous, and checks the types that are
// stated: a known word, or a list of different ones (F5.6, Q16, Q33).
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { isList, isObject, type Json, type JsonObject, mapList, mapMembers } from '../../../proxy/turn/json/json.ts';
import { rule } from '../../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../../route-groups.ts';
import { declaredTools } from '../declared-tools.ts';
import { isStrict, parametersOf } from '../executable-tools.ts';
import { hasObjectRoot, INDIRECTIONS, KEYWORDS, namesType, refuseDepth } from './tool-schema.ts';

/** The refusals of this rule and of `strict-schemas` have the same code and path, so clients cannot see the order of the two. */
export const strictRepair = rule({
  name: 'strict-repair',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    for (const declared of declaredTools(body)) {
      const { tool } = declared;
      if (!isObject(tool) || !isStrict(tool)) continue;
      for (const { parameters, path: param } of parametersOf(tool, declared.path)) refuseTypeValues(parameters, param);
    }
    if (isList(body.tools)) {
      const repaired = mapList(body.tools, repairTool);
      if (repaired !== body.tools) body.tools = repaired;
    }
  },
});

/** Repairs flat top-level functions only: no wrapper, no child of a namespace, nothing in `input`. */
function repairTool(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function' || tool.strict !== true || tool.function !== undefined) return tool;
  const { parameters } = tool;
  if (!hasObjectRoot(parameters)) return tool;
  const repaired = repairWithin(parameters, parameters.type);
  return repaired === parameters ? tool : { ...tool, parameters: repaired };
}

/** Repairs a schema. The check of `type` values has run before and has bounded the depth. */
function repairNode(node: Json): Json {
  if (!isObject(node) || INDIRECTIONS.some((keyword) => node[keyword] !== undefined)) return node;
  if (node.type !== undefined) return repairWithin(node, node.type);
  const type = evidentType(node);
  return type === undefined ? node : { type, ...repairWithin(node, type) };
}

/** Repairs nested schemas in `properties` of objects and `items` of arrays, and not in definitions or alternatives. */
function repairWithin(node: JsonObject, type: Json | undefined): JsonObject {
  const { properties, items } = node;
  let repaired = node;
  if (isObject(properties) && namesType(type, 'object')) {
    const after = mapMembers(properties, repairNode);
    if (after !== properties) repaired = { ...repaired, properties: after };
  }
  if (isObject(items) && namesType(type, 'array')) {
    const after = repairNode(items);
    if (after !== items) repaired = { ...repaired, items: after };
  }
  return repaired;
}

const OBJECT_EVIDENCE: ReadonlySet<string> = new Set(['properties', 'required', 'additionalProperties']);

/**
 * The type that a schema's members show. An object has `properties`, all of them `required`, and `additionalProperties: false`, as strict
 * mode requires. An array has `items` that are not empty. Any other keyword (a description, an enum, a bound, an unknown one) makes the
 * schema ambiguous.
 */
function evidentType(node: JsonObject): 'object' | 'array' | undefined {
  const members = Object.keys(node);
  if (isClosedObject(node)) return members.every((member) => OBJECT_EVIDENCE.has(member)) ? 'object' : undefined;
  const { items } = node;
  return members.length === 1 && isObject(items) && Object.keys(items).length > 0 ? 'array' : undefined;
}

function isClosedObject({ properties, required, additionalProperties }: JsonObject): boolean {
  if (additionalProperties !== false || !isObject(properties) || !isList(required)) return false;
  const names = Object.keys(properties);
  const wanted = new Set(required);
  if (required.length !== names.length || wanted.size !== names.length) return false;
  return names.every((name) => wanted.has(name) && isObject(properties[name]));
}

const TYPES: ReadonlySet<Json> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** Checks schemas only: neither a property with the name `type` nor a value of an `enum`. */
function refuseTypeValues(schema: Json, param: string, depth = 0): void {
  if (!isObject(schema)) return;
  refuseDepth(depth, param);
  if (schema.type !== undefined && !isTypeValue(schema.type)) {
    throw new Refusal('invalid_function_parameters', { param, message: `\`${param}\` has a malformed, duplicate or unknown type.` });
  }
  for (const within of schemasOf(schema)) refuseTypeValues(within, param, depth + 1);
}

function isTypeValue(type: Json): boolean {
  if (!isList(type)) return TYPES.has(type);
  return type.length > 0 && type.length <= TYPES.size && type.every((one) => TYPES.has(one)) && new Set(type).size === type.length;
}

function* schemasOf(schema: JsonObject): Generator<Json> {
  for (const [keyword, value] of Object.entries(schema)) {
    if (value === undefined) continue;
    const kind = KEYWORDS.get(keyword);
    if (kind === 'data' || kind === undefined) continue;
    if (isList(value)) yield* value;
    else if (kind === 'map' && isObject(value)) yield* Object.values(value).filter((one) => one !== undefined);
    else yield value;
  }
}
