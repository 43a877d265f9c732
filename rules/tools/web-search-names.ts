// Replaces the preview and dated names of the `web_search` tool by its plain name (Q16).
import { isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

const WEB_SEARCH = /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/;

/**
 * Applies wherever the request names the tool: declared at the top level or in `additional_tools` items, chosen, or among the allowed
 * tools.
 */
export const webSearchNames = rule({
  name: 'web-search-names',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    const { tools, tool_choice: choice, input } = body;
    if (isList(tools)) body.tools = mapList(tools, withPlainName);
    if (isObject(choice)) body.tool_choice = withPlainName(choice.type === 'allowed_tools' ? withPlainTools(choice) : choice);
    if (isList(input)) {
      body.input = mapList(input, (item) => (isObject(item) && item.type === 'additional_tools' ? withPlainTools(item) : item));
    }
  },
});

function withPlainName(tool: Json): Json {
  if (!isObject(tool) || typeof tool.type !== 'string' || tool.type === 'web_search' || !WEB_SEARCH.test(tool.type)) return tool;
  return { ...tool, type: 'web_search' };
}

function withPlainTools(holder: JsonObject): JsonObject {
  const { tools } = holder;
  if (!isList(tools)) return holder;
  const plain = mapList(tools, withPlainName);
  return plain === tools ? holder : { ...holder, tools: plain };
}
