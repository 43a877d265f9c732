// The text inside a reasoning capsule of a chat account: the reasoning of its model, in the members that the account needs back (AA22,
// AA44).
import { asList, asString, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';

export interface ReasoningCapsule {
  /** The account's own id of the model that made the reasoning. Other models cannot use it. */
  readonly model: string;
  readonly text: string;
  /** The member `reasoning_details` of the reply. */
  readonly details: readonly Json[];
  /** Further members of calls, by the client's id of the call. */
  readonly calls: Readonly<Record<string, JsonObject>>;
}

/** Names are short, because clients send every capsule back with each turn. */
export function capsuleText({ model, text, details, calls }: ReasoningCapsule): string {
  return JSON.stringify({
    m: model,
    ...(text === '' ? {} : { t: text }),
    ...(details.length > 0 ? { d: details } : {}),
    ...(Object.keys(calls).length > 0 ? { c: calls } : {}),
  });
}

/** @param sealed a text that `capsuleText` made, here or at another node, perhaps of another version */
export function parsedCapsule(sealed: string): ReasoningCapsule | undefined {
  const json: unknown = JSON.parse(sealed);
  if (!isObject(json) || typeof json.m !== 'string') return undefined;
  const calls = isObject(json.c) ? Object.entries(json.c).filter((entry): entry is [string, JsonObject] => isObject(entry[1])) : [];
  return { model: json.m, text: asString(json.t) ?? '', details: asList(json.d), calls: Object.fromEntries(calls) };
}
