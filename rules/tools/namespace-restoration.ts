// Restores the namespace of a public `custom_tool_call` if the provider omitted it (F5.4).
import { isAbsent, isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Body, Event } from '../../proxy/turn/turn.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';
import { declaredTools } from './declared-tools.ts';

/** The namespace of each custom tool whose declared name is unique. */
type Namespaces = ReadonlyMap<string, string>;

/** Reads the tools as the client declared them, so it runs before they are moved into `input` (F2.5). */
export const namespaceRestoration = rule<Namespaces>({
  name: 'namespace-restoration',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    const namespaces = uniqueNamespaces(body);
    return namespaces.size > 0 ? namespaces : SKIP;
  },
  events: ['response.output_item.added', 'response.output_item.done', 'response.completed', 'response.incomplete', 'response.failed'],
  event(event, namespaces) {
    const data = restoreEvent(event, namespaces);
    return data === event.data ? event : { ...event, data };
  },
  answer: restoreOutput,
});

function uniqueNamespaces(body: Body): Namespaces {
  const namespaces = new Map<string, string>();
  const seen = new Set<string>();
  for (const { tool, namespace } of declaredTools(body)) {
    if (!isObject(tool) || tool.type !== 'custom' || typeof tool.name !== 'string') continue;
    const { name } = tool;
    const within = namespace?.name;
    if (seen.has(name)) namespaces.delete(name);
    else if (typeof within === 'string') namespaces.set(name, within);
    seen.add(name);
  }
  return namespaces;
}

function restoreEvent({ data }: Event, namespaces: Namespaces): JsonObject {
  const { item, response } = data;
  if (isObject(item)) {
    const restored = restoreItem(item, namespaces);
    return restored === item ? data : { ...data, item: restored };
  }
  if (isObject(response)) {
    const restored = restoreOutput(response, namespaces);
    return restored === response ? data : { ...data, response: restored };
  }
  return data;
}

function restoreOutput(response: JsonObject, namespaces: Namespaces): JsonObject {
  const { output } = response;
  if (!isList(output)) return response;
  const restored = mapList(output, (item) => restoreItem(item, namespaces));
  return restored === output ? response : { ...response, output: restored };
}

function restoreItem(item: Json, namespaces: Namespaces): Json {
  if (!isObject(item) || item.type !== 'custom_tool_call' || !isAbsent(item.namespace)) return item;
  const namespace = typeof item.name === 'string' ? namespaces.get(item.name) : undefined;
  return namespace === undefined ? item : { ...item, namespace };
}
