// The public surface takes a closed list of tool types, and namespaces only in one shape (F5.2, Q16).

import type { Json } from '../../proxy/turn/json.ts';
import { isAbsent, isList, isObject, isText } from '../../proxy/turn/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';
import { type DeclaredTool, declaredTools, isNamespace } from './declared-tools.ts';

const TOP_LEVEL: ReadonlySet<Json | undefined> = new Set(['function', 'custom', 'namespace', 'web_search', 'image_generation']);
const IN_NAMESPACE: ReadonlySet<Json | undefined> = new Set(['function', 'custom']);

export const toolTypes = rule({
  name: 'tool-types',
  routes: ['public-responses'],
  request({ body }) {
    refuseUnreadableLists(body);
    for (const declared of declaredTools(body)) {
      refuseType(declared);
      if (declared.namespace) refuseChild(declared);
      else refuseNamespace(declared);
    }
    return undefined;
  },
});

/** An `additional_tools` item whose tools cannot be looked through must not carry them past the list of types. */
function refuseUnreadableLists(body: Body): void {
  if (!isList(body.input)) return;
  for (const [i, item] of body.input.entries()) {
    if (!isObject(item) || item.type !== 'additional_tools') continue;
    if (!isAbsent(item.tools) && !isList(item.tools)) throw invalid(`input.${i}.tools`, 'must be an array');
  }
}

function refuseType(declared: DeclaredTool): void {
  const { tool, namespace } = declared;
  const accepted = namespace ? IN_NAMESPACE : TOP_LEVEL;
  if (!isObject(tool) || !accepted.has(tool.type)) throw invalid(`${declared.path}.type`, 'is not a tool type that is accepted here');
}

/** Functions in a namespace are flat: with a name of their own, without the older wrapper. */
function refuseChild(declared: DeclaredTool): void {
  const { tool } = declared;
  if (!isObject(tool) || tool.type !== 'function') return;
  if (!isAbsent(tool.function)) throw invalid(`${declared.path}.function`, 'is not accepted in a namespace: its functions are flat');
  if (!isText(tool.name)) throw invalid(`${declared.path}.name`, 'must be a non-blank string');
}

function refuseNamespace(declared: DeclaredTool): void {
  const { tool } = declared;
  if (!isNamespace(tool)) return;
  if (!isText(tool.name)) throw invalid(`${declared.path}.name`, 'must be a non-blank string');
  if (!isList(tool.tools)) throw invalid(`${declared.path}.tools`, 'must be an array');
}
