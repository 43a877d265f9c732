// Refuses remote MCP tools before dispatch, on every surface (F1.3).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TURNS } from '../route-groups.ts';
import { declaredTools } from './declared-tools.ts';

/** On native routes this is the only refusal of a tool's type (Q16), because their clients often declare new types. */
export const remoteMcp = rule({
  name: 'remote-mcp',
  routes: TURNS,
  request({ body }) {
    for (const declared of declaredTools(body)) {
      const { tool } = declared;
      if (isObject(tool) && tool.type === 'mcp')
        throw invalidRequest(`${declared.path}.type`, 'declares a remote MCP tool, which is not supported');
    }
  },
});
