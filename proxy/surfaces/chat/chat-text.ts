// Translates `response_format` and `verbosity` of Chat into `text` (Q24).
import { invalidRequest } from '../../turn/errors/invalid-request.ts';
import type { Json, JsonObject } from '../../turn/json/json.ts';
import { isAbsent, isObject, isText } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

export function translateText(body: Body): void {
  const { response_format: format, verbosity } = body;
  delete body.response_format;
  delete body.verbosity;
  const text = {
    ...(isAbsent(format) ? {} : { format: textFormat(format) }),
    ...(isAbsent(verbosity) ? {} : { verbosity }),
  };
  if (Object.keys(text).length > 0) body.text = text;
}

/** The format of the text. A JSON schema is taken out of the object that contains it in Chat. */
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
