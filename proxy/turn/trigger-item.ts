// The input item that asks for a compaction of the conversation before it, instead of an answer (F3.1).
import { isList, isObject, type Json, type JsonObject } from './json/json.ts';
import type { Body } from './turn.ts';

export const COMPACTION_TRIGGER: JsonObject = Object.freeze({ type: 'compaction_trigger' });

export const isTrigger = (item: Json | undefined): boolean => isObject(item) && item.type === COMPACTION_TRIGGER.type;

/** Whether the input ends in a trigger. */
export const endsInTrigger = ({ input }: Body): boolean => isList(input) && isTrigger(input.at(-1));

/** Whether the input has a trigger at any place. A rule checks the place. */
export const asksForCompaction = ({ input }: Body): boolean => isList(input) && input.some(isTrigger);
