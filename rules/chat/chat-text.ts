// `response_format` and `verbosity` of Chat become `text` (Q24).

import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { isAbsent, isObject, isText } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { invalidRequest } from '../helpers/invalid-request.ts';
import { CHAT_TURNS } from '../route-groups.ts';

/** Runs after the check of strict schemas, which names the schema by its place in `response_format` (F5.7). */
export const chatText = rule({
  name: 'chat-text',
  routes: CHAT_TURNS,
  request({ body }) {
    const { response_format: format, verbosity } = body;
    delete body.response_format;
    delete body.verbosity;
    const text = {
      ...(isAbsent(format) ? {} : { format: textFormat(format) }),
      ...(isAbsent(verbosity) ? {} : { verbosity }),
    };
    if (Object.keys(text).length > 0) body.text = text;
  },
});

/** A JSON schema loses the object that wraps it. */
function textFormat(format: Json): JsonObject {
  const type = isObject(format) ? format.type : undefined;
  if (!isObject(format) || (type !== 'text' && type !== 'json_object' && type !== 'json_schema')) {
    throw invalidRequest('response_format.type', 'must be text, json_object or json_schema');
  }
  if (type !== 'json_schema') return { type };
  const { json_schema: inside } = format;
  if (!isObject(inside)) throw invalidRequest('response_format.json_schema', 'must be an object');
  if (!isText(inside.name)) throw invalidRequest('response_format.json_schema.name', 'must be a non-blank string');
  return { ...inside, type };
}
