// The parts of a Chat chunk, or of a whole completion, that a translation reads. Only choice 0 is read (AA49, AA52).
import { asList, isAbsent, isList, isObject, isText, type Json, type JsonObject } from '../../../turn/json/json.ts';

/** The choice 0; undefined if the chunk has none. A choice without an index counts as the first one. */
export function choiceIn({ choices }: JsonObject): JsonObject | undefined {
  const list = asList(choices);
  return list.find((choice): choice is JsonObject => isObject(choice) && (choice.index === 0 || isAbsent(choice.index)));
}

/** What the choice adds: a delta, or the whole message in a completion. */
export function deltaIn(choice: JsonObject): { readonly delta: JsonObject; readonly isWhole: boolean } {
  if (isObject(choice.delta)) return { delta: choice.delta, isWhole: false };
  return isObject(choice.message) ? { delta: choice.message, isWhole: true } : { delta: NOTHING, isWhole: false };
}

const NOTHING: JsonObject = {};

/** Whether a call of the delta has its arguments as an object, whose numbers must keep their digits. */
export const hasObjectArguments = ({ tool_calls: calls, function_call: legacy }: JsonObject): boolean =>
  hasObjectIn(legacy) || asList(calls).some((call) => isObject(call) && hasObjectIn(call.function));

const hasObjectIn = (called: Json | undefined): boolean => isObject(called) && isObject(called.arguments);

/**
 * The error in a reply of status 200: next to the choices, as the chunk itself, or in the choice (AA59). It includes a status if one is
 * stated.
 */
export function errorInChunk(chunk: JsonObject, type: string): JsonObject | undefined {
  const stated = chunk.error;
  if (!isAbsent(stated) && stated !== false) return errorOf(isObject(stated) ? stated : { message: String(stated) }, chunk);
  if (chunk.object === 'error' || type === 'error') return errorOf(chunk, chunk);
  const choice = choiceIn(chunk);
  return choice && isObject(choice.error) ? errorOf(choice.error, chunk) : undefined;
}

const errorOf = (error: JsonObject, { status }: JsonObject): JsonObject => (typeof status === 'number' ? { status, error } : { error });

export const finishIn = ({ finish_reason: reason }: JsonObject): string | undefined => (isText(reason) ? reason : undefined);

/** The text of a delta, and the reasoning that its content has as parts. */
export interface ContentText {
  readonly text: string;
  readonly thought: string;
}

export function contentTextIn(content: Json | undefined): ContentText {
  if (typeof content === 'string') return { text: content, thought: '' };
  let text = '';
  let thought = '';
  for (const part of asList(content)) {
    if (!isObject(part)) continue;
    if (part.type === 'thinking') thought += textsOf(part.thinking);
    else if (typeof part.text === 'string') text += part.text;
  }
  return { text, thought };
}

/** A text, or the texts in a list of parts. */
const textsOf = (value: Json | undefined): string => {
  if (typeof value === 'string') return value;
  return asList(value)
    .map((part) => (isObject(part) && typeof part.text === 'string' ? part.text : ''))
    .join('');
};

/** The reasoning of a delta. If it is in several members, the first of them is read. */
export function reasoningIn({ reasoning_content, reasoning, thinking, reasoning_details: details }: JsonObject): string {
  for (const text of [reasoning_content, reasoning, thinking]) if (typeof text === 'string' && text !== '') return text;
  if (!isList(details)) return '';
  return details.map((part) => (isObject(part) ? String(part.text ?? part.summary ?? '') : '')).join('');
}
