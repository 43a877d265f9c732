// Handles references to stored items. Nothing is stored, so a reference to reasoning is dropped and any other is refused (Q15).
import { invalidRequest } from '../../proxy/turn/errors/invalid-request.ts';
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { PUBLIC_RESPONSES } from '../route-groups.ts';

/** A conversation can continue without the reasoning of earlier turns, but not without their messages, calls and outputs. */
export const itemReferences = rule({
  name: 'item-references',
  routes: PUBLIC_RESPONSES,
  request({ body }, turn) {
    if (!isList(body.input) || !body.input.some(isReference)) return;
    const kept: Json[] = [];
    for (const [i, item] of body.input.entries()) {
      if (!isReference(item)) kept.push(item);
      else if (!isToReasoning(item))
        throw invalidRequest(
          `input.${i}`,
          'refers to a stored item, but nothing is stored here; send the item itself, as SDKs do with `store: false`',
        );
      else turn.spliced(kept.length, 1, 0);
    }
    body.input = kept;
  },
});

/**
 * Whether an item is a reference. In the public API the type of a reference may be null or absent; any other item without a type is a
 * message and has a role.
 */
const isReference = (item: Json): item is JsonObject =>
  isObject(item) && (item.type === 'item_reference' || (isAbsent(item.type) && isAbsent(item.role) && !isAbsent(item.id)));

const isToReasoning = ({ id }: JsonObject): boolean => typeof id === 'string' && id.startsWith('rs_');
