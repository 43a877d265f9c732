// Strict schemas on the compatible surface have a direct object root (F5.7).

import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { isObject } from '../../../proxy/turn/json/json.ts';
import { surfaceOf } from '../../../proxy/turn/routes/kinds.ts';
import { rule } from '../../../proxy/turn/rules/rule.ts';
import type { Body } from '../../../proxy/turn/turn.ts';
import { COMPATIBLE_TURNS } from '../../route-groups.ts';
import { declaredTools } from '../declared-tools.ts';
import { isStrict, parametersOf } from '../executable-tools.ts';
import { hasObjectRoot } from './tool-schema.ts';

/** Chat bodies are checked as the client wrote them, so the rule runs before their translation. */
export const strictSchemas = rule({
  name: 'strict-schemas',
  routes: COMPATIBLE_TURNS,
  request({ body }, { route }) {
    if (surfaceOf(route.kind) === 'chat') refuseChatFormat(body);
    else refuseTextFormat(body);
    refuseParameters(body);
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

/** Top level, nested wrapper and namespace children. A function may have no parameters. */
function refuseParameters(body: Body): void {
  for (const declared of declaredTools(body)) {
    const { tool } = declared;
    if (!isObject(tool) || !isStrict(tool)) continue;
    for (const { parameters, path: param } of parametersOf(tool, declared.path)) {
      if (!hasObjectRoot(parameters)) throw new Refusal('invalid_function_parameters', { param });
    }
  }
}
