// Remote MCP tools are nobody's to declare here: refused before dispatch, on every surface (F1.3).

import { isObject } from '../../proxy/turn/json.ts';
import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';
import { declaredTools } from './declared-tools.ts';

/** On native routes this is all that is refused of tools (Q16): their clients declare new types every other month. */
export const remoteMcp = rule({
  name: 'remote-mcp',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }) {
    for (const declared of declaredTools(body)) {
      const { tool } = declared;
      if (isObject(tool) && tool.type === 'mcp')
        throw invalid(`${declared.path}.type`, 'declares a remote MCP tool, which is not supported');
    }
    return undefined;
  },
});
