// What can be called by name has a name of its own across the top level and all namespaces (F5.2).

import { invalid } from '../invalid.ts';
import { rule } from '../rule.ts';
import { toolLists, toolsIn } from './declared-tools.ts';
import { executableOf } from './executable.ts';

/** Each list for itself: a history may declare a tool again in a later `additional_tools` item. */
export const toolNames = rule({
  name: 'tool-names',
  routes: ['public-responses'],
  request({ body }) {
    for (const list of toolLists(body)) {
      const taken = new Set<string>();
      for (const { tool, path } of toolsIn(list)) {
        const executable = executableOf(tool, path);
        if (!executable) continue;
        if (taken.has(executable.name)) throw invalid(executable.path, 'repeats the name of another tool');
        taken.add(executable.name);
      }
    }
    return undefined;
  },
});
