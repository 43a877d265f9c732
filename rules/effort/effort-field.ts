// The places of a request that hold its effort: `reasoning.effort`, and updates among the items (RB15).
import { isList, isObject, type Json, type JsonObject, mapList } from '../../proxy/turn/json/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';

/** The path of the field in a refusal. */
export const EFFORT = 'reasoning.effort';

/** The effort of the field; undefined if it is omitted or null. */
export const fieldEffort = ({ reasoning }: Body): Json | undefined => effortIn(reasoning);

export function setEffort(body: Body, effort: string): void {
  body.reasoning = isObject(body.reasoning) ? { ...body.reasoning, effort } : { effort };
}

/** An effort that an item of `input` sets. */
export interface EffortUpdate {
  /** The path in a refusal. */
  readonly param: string;
  readonly effort: Json;
}

/**
 * The updates in their order. The last one takes precedence over the field, which clients leave unchanged to keep the prompt cache (RB15).
 */
export function effortUpdatesOf({ input }: Body): readonly EffortUpdate[] {
  if (!isList(input)) return NONE;
  return input.flatMap((item, i) => {
    const effort = isUpdate(item) ? effortIn(item.reasoning) : undefined;
    return effort === undefined ? NONE : [{ param: `input.${i}.reasoning.effort`, effort }];
  });
}

/** Replaces the efforts of all updates; the same input if nothing changes. */
export function mapEffortUpdates(body: Body, change: (effort: Json) => Json): void {
  if (!isList(body.input) || !body.input.some(isUpdate)) return;
  body.input = mapList(body.input, (item) => {
    const effort = isUpdate(item) ? effortIn(item.reasoning) : undefined;
    const changed = effort === undefined ? undefined : change(effort);
    if (changed === undefined || changed === effort) return item;
    const update = item as JsonObject;
    return { ...update, reasoning: { ...(update.reasoning as JsonObject), effort: changed } };
  });
}

/** The effort of the turn as it is sent: that of the last update, otherwise of the field. Undefined if the model decides. */
export const effortOf = (body: Body): Json | undefined => effortUpdatesOf(body).at(-1)?.effort ?? fieldEffort(body);

const NONE: readonly EffortUpdate[] = [];

const isUpdate = (item: Json): item is JsonObject => isObject(item) && item.type === 'configuration_update';

const effortIn = (reasoning: Json | undefined): Json | undefined => (isObject(reasoning) ? (reasoning.effort ?? undefined) : undefined);
