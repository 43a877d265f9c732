// Replaces the model names of another vendor, which Messages clients send, by the exposed ids that they are mapped to (AM20 to AM22).
import { resolveName, withoutMarks } from '../../proxy/turn/named-model.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { allowsModel } from '../helpers/key-policy.ts';
import { ALIASED } from '../route-groups.ts';

/** A name without a mapping is kept, and model access refuses it. A mark alone stays a name, because an empty one would count as missing. */
export const modelAlias = rule({
  name: 'model-alias',
  routes: ALIASED,
  request({ body }, turn) {
    const name = body.model;
    if (typeof name !== 'string') return;
    const { key, pool } = turn;
    const isExposed = (id: string): boolean => allowsModel(key, id) && LISTED.has(turn.presenceOf(id));
    body.model = resolveName(name, pool.aliases ?? {}, isExposed)?.id ?? (withoutMarks(name) || name);
  },
  explain({ asked, model }) {
    return asked === undefined || model === undefined || asked === model ? undefined : `${asked} is an alias of ${model}`;
  },
});

const LISTED: ReadonlySet<string> = new Set(['routable', 'unroutable']);
