// Lowers the schemas of non-strict functions to what the backend accepts (F5.1, F1.5).
import { isAbsent, isList, isObject, type Json, type JsonObject, mapList } from '../../../proxy/turn/json/json.ts';
import { rule } from '../../../proxy/turn/rules/rule.ts';
import { NORMALISED_TURNS } from '../../route-groups.ts';
import { isNamespace } from '../declared-tools.ts';
import { isStrict, wrappedFunction } from '../executable-tools.ts';
import { lowerParameters } from './schema-lowering.ts';

/**
 * Lowers top-level `tools` and the functions in their namespaces. Tools in `input` are left as sent, because the contract names
 * `additional_tools` if it means them (F1.3), an item with an id is ordinary input (F2.10), and a Lite-shaped native body is sent in Full
 * as it came (F2.11). The item that the Lite rewrite makes holds tools that were lowered here. Therefore this rule runs before that one,
 * and after every rule that checks schemas as the client wrote them.
 */
export const lowerSchemas = rule({
  name: 'lower-schemas',
  routes: NORMALISED_TURNS,
  request({ body }) {
    if (!isList(body.tools)) return;
    const lowered = lowerTools(body.tools, 'tools');
    if (lowered !== body.tools) body.tools = lowered;
  },
});

function lowerTools(tools: readonly Json[], path: string): readonly Json[] {
  return mapList(tools, (tool, i) => {
    if (isNamespace(tool) && isList(tool.tools)) return lowerNamespace(tool, tool.tools, `${path}.${i}`);
    return lowerTool(tool, `${path}.${i}`);
  });
}

function lowerNamespace(namespace: JsonObject, children: readonly Json[], path: string): JsonObject {
  const lowered = mapList(children, (child, i) => lowerTool(child, `${path}.tools.${i}`));
  return lowered === children ? namespace : { ...namespace, tools: lowered };
}

/** Lowers a function; a strict one stays the same object, in either form. */
function lowerTool(tool: Json, path: string): Json {
  if (!isObject(tool) || tool.type !== 'function' || isStrict(tool)) return tool;
  const flat = lowerHolder(tool, `${path}.parameters`);
  const inside = wrappedFunction(flat);
  if (inside === undefined) return flat;
  const lowered = lowerHolder(inside, `${path}.function.parameters`);
  return lowered === inside ? flat : { ...flat, function: lowered };
}

/** Lowers the parameters of a tool or wrapper. A function without parameters has no schema to lower. */
function lowerHolder(holder: JsonObject, param: string): JsonObject {
  const { parameters } = holder;
  if (isAbsent(parameters)) return holder;
  const lowered = lowerParameters(parameters, param);
  return lowered === parameters ? holder : { ...holder, parameters: lowered };
}
