// Sends system messages that remain in `input` as developer messages, because agent backends refuse the role `system` there (F1.1, F2.6,
// RB9).
import { isAbsent, isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { TURNS } from '../route-groups.ts';

/**
 * On the compatible surface: in Lite all system messages, in Full those with parts that cannot be lifted. On native turns all system
 * messages (RB9).
 */
export const systemRole = rule({
  name: 'system-role',
  routes: TURNS,
  request({ body }) {
    if (isList(body.input)) body.input = mapList(body.input, (item) => (isSystemMessage(item) ? { ...item, role: 'developer' } : item));
  },
});

const isSystemMessage = (item: Json): item is JsonObject =>
  isObject(item) && (item.type === 'message' || isAbsent(item.type)) && item.role === 'system';
