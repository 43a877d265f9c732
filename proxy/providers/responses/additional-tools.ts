// Joins the tools that items of the input add with those of the turn, because public accounts do not know such items (AA26).
import { asList, isObject, type Json } from '../../turn/json/json.ts';
import type { Body, Outgoing } from '../../turn/turn.ts';

const isAddition = (item: Json): boolean => isObject(item) && item.type === 'additional_tools';

/** Returns the same body if no item adds tools. */
export function withJoinedTools({ body, places }: Pick<Outgoing, 'body' | 'places'>): Body {
  const input = asList(body.input);
  if (!input.some(isAddition)) return body;
  const added = input.flatMap((item) => (isObject(item) && isAddition(item) ? asList(item.tools) : []));
  const kept = input.filter((item) => !isAddition(item));
  places?.filtered(input, kept);
  return { ...body, tools: [...asList(body.tools), ...added], input: kept };
}
