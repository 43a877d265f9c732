// Fills in a nested `type` that a strict flat function left out, where its structure leaves no doubt (F5.6, Q33).
import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject, mapList, mapMembers } from '../../proxy/turn/json.ts';
import { rule } from '../rule.ts';
import { declaredTools } from './declared-tools.ts';
import { isStrict, parametersOf } from './executable.ts';
import { INDIRECTIONS, namesType } from './schema.ts';
import { hasObjectRoot } from './strict-schemas.ts';
import { refuseTypeValues } from './type-values.ts';

/** Its refusals and those of `strict-schemas` have one code and one place, so that either may stand first. */
export const strictRepair = rule({
  name: 'strict-repair',
  routes: ['public-responses'],
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
    return undefined;
  },
});

/** Only flat top-level functions: no wrapper, no child of a namespace, nothing in `input`. */
function repairTool(tool: Json): Json {
  if (!isObject(tool) || tool.type !== 'function' || tool.strict !== true || tool.function !== undefined) return tool;
  const { parameters } = tool;
  if (!hasObjectRoot(parameters)) return tool;
  const repaired = repairWithin(parameters, parameters.type);
  return repaired === parameters ? tool : { ...tool, parameters: repaired };
}

/** `type` values were checked before, which also bounded the depth. */
function repairNode(node: Json): Json {
  if (!isObject(node) || INDIRECTIONS.some((keyword) => node[keyword] !== undefined)) return node;
  if (node.type !== undefined) return repairWithin(node, node.type);
  const type = evidentType(node);
  return type === undefined ? node : { type, ...repairWithin(node, type) };
}

/** Nested schemas are reached through `properties` of an object and `items` of an array alone: not through definitions or alternatives. */
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
 * The closed list of evidence. An object: `properties`, all of them `required`, and `additionalProperties: false`, as strict mode
 * wants it. An array: `items` that say something. Nothing else beside either: a description, an enum, a bound or an unknown keyword
 * is a reason for doubt, and in doubt nothing is repaired.
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
