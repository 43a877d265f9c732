// Checks that names of executable tools are unique across the top level and all namespaces (F5.2).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';
import { toolLists, toolsIn } from './declared-tools.ts';
import { executableOf } from './executable-tools.ts';

/** Names are compared within each list, because a history may declare a tool again in a later `additional_tools` item. */
export const toolNames = rule({
  name: 'tool-names',
  routes: PUBLIC_RESPONSES,
  request({ body }) {
    for (const list of toolLists(body)) {
      const taken = new Set<string>();
      for (const { tool, path } of toolsIn(list)) {
        const executable = executableOf(tool, path);
        if (!executable) continue;
        if (taken.has(executable.name)) throw invalidRequest(executable.path, 'repeats the name of another tool');
        taken.add(executable.name);
      }
    }
  },
});
