// Items of a public conversation: the compaction that replaces earlier items, and which other items are visible (F3.1, F3.4).
import { isAbsent, isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';

export const isCompactionItem = (item: Json): item is JsonObject => isObject(item) && item.type === 'compaction';

/** Items that are not content of the conversation. */
const INVISIBLE: ReadonlySet<Json | undefined> = new Set([
  'compaction',
  'compaction_trigger',
  'reasoning',
  'additional_tools',
  'item_reference',
  'configuration_update',
]);

/**
 * Whether an item is content of the conversation. Messages that instruct the model are not. An item without type and role is a reference.
 */
const isVisible = (item: Json): boolean =>
  isObject(item) &&
  !(isAbsent(item.type) && isAbsent(item.role)) &&
  !INVISIBLE.has(item.type) &&
  item.role !== 'system' &&
  item.role !== 'developer';

export const hasVisibleInput = ({ input }: Body): boolean => isList(input) && input.some(isVisible);
