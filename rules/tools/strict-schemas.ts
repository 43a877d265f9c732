// Strict schemas on the compatible surface have a direct object at their root (F5.7).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import { Refusal } from '../../proxy/turn/refusal.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';
import { declaredTools } from './declared-tools.ts';
import { isStrict, parametersOf } from './executable.ts';
import { INDIRECTIONS } from './schema.ts';

/** Chat bodies are checked as the client wrote them, so on that route this stands before their translation. */
export const strictSchemas = rule({
  name: 'strict-schemas',
  routes: ['public-responses', 'chat'],
  request({ body }, { route }) {
    if (route.kind === 'chat') refuseChatFormat(body);
    else refuseTextFormat(body);
    refuseParameters(body);
    return undefined;
  },
});

function refuseTextFormat({ text }: Body): void {
  const format = isObject(text) ? text.format : undefined;
  if (isObject(format) && format.type === 'json_schema') refuseFormat(format, 'text.format.schema');
}

function refuseChatFormat({ response_format: format }: Body): void {
  if (!isObject(format) || format.type !== 'json_schema' || !isObject(format.json_schema)) return;
  refuseFormat(format.json_schema, 'response_format.json_schema.schema');
}

function refuseFormat({ strict, schema }: JsonObject, param: string): void {
  if (strict === true && !hasObjectRoot(schema)) throw new Refusal('invalid_json_schema', { param });
}

/** Top level, nested wrapper, namespace children; absent parameters are a function without any. */
function refuseParameters(body: Body): void {
  for (const declared of declaredTools(body)) {
    const { tool } = declared;
    if (!isObject(tool) || !isStrict(tool)) continue;
    for (const { parameters, path: param } of parametersOf(tool, declared.path)) {
      if (!hasObjectRoot(parameters)) throw new Refusal('invalid_function_parameters', { param });
    }
  }
}

/** Direct: `type` is the one word, and no alternative or reference stands beside it (Q24). Nested ones are nobody's business here. */
export function hasObjectRoot(schema: Json | undefined): schema is JsonObject {
  return isObject(schema) && schema.type === 'object' && INDIRECTIONS.every((keyword) => schema[keyword] === undefined);
}
