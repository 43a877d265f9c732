// Sends system messages that remain in `input` as developer messages: agent backends refuse the role `system` there (F1.1, F2.6).

import { isAbsent, isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json.ts';
import { rule } from '../../proxy/turn/rule.ts';
import { COMPATIBLE_TURNS } from '../route-groups.ts';

/** In Lite all of them, in Full those with parts that cannot be lifted. Native turns go out as their clients wrote them (Q32). */
export const systemRole = rule({
  name: 'system-role',
  routes: COMPATIBLE_TURNS,
  request({ body }) {
    if (isList(body.input)) body.input = mapList(body.input, (item) => (isSystemMessage(item) ? { ...item, role: 'developer' } : item));
  },
});

const isSystemMessage = (item: Json): item is JsonObject =>
  isObject(item) && (item.type === 'message' || isAbsent(item.type)) && item.role === 'system';
