// The efforts of reasoning: their names, those that are sent under another name, and the effort that a request asks for (RE4, F4.7, RB15).
import { asString, isList, isObject, type Json } from '../json/json.ts';
import type { Body } from '../turn.ts';

/** The known efforts, ascending (RE4). All others are custom efforts. */
export const EFFORTS: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

/** Efforts that are replaced when a turn is sent. Policies distinguish the two names before (F4.7). */
export const EFFORT_ALIASES: ReadonlyMap<unknown, string> = new Map([
  ['minimal', 'low'],
  ['ultra', 'max'],
]);

/**
 * The effort that a request asks for: in the last update among its items, otherwise in its member (RB15). Undefined if the model decides.
 */
export function askedEffort({ input, reasoning }: Body): string | undefined {
  for (let i = isList(input) ? input.length - 1 : -1; i >= 0; i--) {
    const item = (input as readonly Json[])[i];
    const effort = isObject(item) && item.type === 'configuration_update' ? effortIn(item.reasoning) : undefined;
    if (effort !== undefined) return effort;
  }
  return effortIn(reasoning);
}

const effortIn = (reasoning: Json | undefined): string | undefined => (isObject(reasoning) ? asString(reasoning.effort) : undefined);
