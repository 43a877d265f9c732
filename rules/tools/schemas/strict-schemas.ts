// Checks that strict schemas on the compatible surface have a direct object root (F5.7).
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import { isObject } from '../../../proxy/turn/json/json.ts';
import { rule } from '../../../proxy/turn/rules/rule.ts';
import type { Body } from '../../../proxy/turn/turn.ts';
import { COMPATIBLE_TURNS } from '../../route-groups.ts';
import { declaredTools } from '../declared-tools.ts';
import { isStrict, parametersOf } from '../executable-tools.ts';
import { hasObjectRoot } from './tool-schema.ts';

export const strictSchemas = rule({
  name: 'strict-schemas',
  routes: COMPATIBLE_TURNS,
  request({ body }) {
    refuseTextFormat(body);
    refuseParameters(body);
  },
});

function refuseTextFormat({ text }: Body): void {
  const format = isObject(text) ? text.format : undefined;
  if (!isObject(format) || format.type !== 'json_schema' || format.strict !== true || hasObjectRoot(format.schema)) return;
  throw new Refusal('invalid_json_schema', { param: 'text.format.schema' });
}

/** Checks top-level functions, nested wrappers and children of namespaces. A function may have no parameters. */
function refuseParameters(body: Body): void {
  for (const declared of declaredTools(body)) {
    const { tool } = declared;
    if (!isObject(tool) || !isStrict(tool)) continue;
    for (const { parameters, path: param } of parametersOf(tool, declared.path)) {
      if (!hasObjectRoot(parameters)) throw new Refusal('invalid_function_parameters', { param });
    }
  }
}
