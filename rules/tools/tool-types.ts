// Checks that tools of the public surface have a type of a closed list, and namespaces one shape (F5.2, Q16).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import type { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { isAbsent, isList, isObject, isText, type Json } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';
import { type DeclaredTool, declaredTools, isNamespace } from './declared-tools.ts';
import { wrappedFunction } from './executable-tools.ts';

const TOP_LEVEL: ReadonlySet<Json | undefined> = new Set(['function', 'custom', 'namespace', 'web_search', 'image_generation']);
const IN_NAMESPACE: ReadonlySet<Json | undefined> = new Set(['function', 'custom']);

export const toolTypes = rule({
  name: 'tool-types',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    refuseUnreadableLists(body);
    for (const declared of declaredTools(body)) {
      refuseType(declared);
      if (declared.namespace) refuseChild(declared);
      else {
        refuseFunction(declared);
        refuseNamespace(declared);
      }
    }
  },
});

/** Refuses `additional_tools` items whose tools are no list, because the types of those tools would not be checked. */
function refuseUnreadableLists(body: Body): void {
  if (!isList(body.input)) return;
  for (const [i, item] of body.input.entries()) {
    if (!isObject(item) || item.type !== 'additional_tools') continue;
    if (!isAbsent(item.tools) && !isList(item.tools)) throw invalidRequest(`input.${i}.tools`, 'must be an array');
  }
}

function refuseType(declared: DeclaredTool): void {
  const { tool, namespace } = declared;
  const accepted = namespace ? IN_NAMESPACE : TOP_LEVEL;
  if (!isObject(tool) || !accepted.has(tool.type))
    throw invalidRequest(`${declared.path}.type`, 'is not a tool type that is accepted here');
}

/** Refuses a tool in a namespace that is not flat: it must have a name and no wrapper. */
function refuseChild(declared: DeclaredTool): void {
  const { tool } = declared;
  if (!isObject(tool) || tool.type !== 'function') return;
  if (!isAbsent(tool.function)) throw invalidRequest(`${declared.path}.function`, 'is not accepted in a namespace: its functions are flat');
  if (!isText(tool.name)) throw nameless(`${declared.path}.name`);
}

function refuseFunction(declared: DeclaredTool): void {
  const { tool } = declared;
  if (!isObject(tool) || tool.type !== 'function' || isText(tool.name)) return;
  const inside = isAbsent(tool.name) ? wrappedFunction(tool) : undefined;
  if (!inside) throw nameless(`${declared.path}.name`);
  if (!isText(inside.name)) throw nameless(`${declared.path}.function.name`);
}

function refuseNamespace(declared: DeclaredTool): void {
  const { tool } = declared;
  if (!isNamespace(tool)) return;
  if (!isText(tool.name)) throw nameless(`${declared.path}.name`);
  if (!isList(tool.tools)) throw invalidRequest(`${declared.path}.tools`, 'must be an array');
}

const nameless = (path: string): Refusal => invalidRequest(path, 'must be a non-blank string');
