// JSON mode requires the word JSON in a message of `input`. If lifting has moved it into the instructions, it is added to the first
// user message (F1.1, Q24).
import { asList, isAbsent, isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { explainInMode } from '../helpers/explain.ts';
import { COMPACTIONS, COMPATIBLE_TURNS } from '../route-groups.ts';

/** A part that repeats what the instructions already say. */
const REMINDER: JsonObject = { type: 'input_text', text: 'Answer in JSON, as the instructions say.' };

/** Runs after the lifting. In Lite the instructions themselves are a message of `input`. */
export const jsonMention = rule({
  name: 'json-mention',
  routes: COMPATIBLE_TURNS.filter((name) => !COMPACTIONS.includes(name)),
  request({ body }, turn) {
    if (turn.model?.mode?.effective !== 'full' || !isJsonMode(body) || !mentions(body.instructions)) return;
    const items = asList(body.input);
    if (items.some((item) => isMessage(item) && mentions(item.content))) return;
    const first = items.find((item) => isMessage(item) && item.role === 'user');
    if (first !== undefined) body.input = items.map((item) => (item === first ? reminded(item as JsonObject) : item));
  },
  explain: explainInMode('full', 'keeps the word JSON in `input` of a turn in JSON mode'),
});

function isJsonMode({ text }: Body): boolean {
  const format = isObject(text) ? text.format : undefined;
  return isObject(format) && format.type === 'json_object';
}

const isMessage = (item: Json): item is JsonObject => isObject(item) && (item.type === 'message' || isAbsent(item.type));

/** Whether a text or the texts of content parts mention JSON. The data of images and files is not searched. */
function mentions(content: Json | undefined): boolean {
  if (typeof content === 'string') return /json/i.test(content);
  return asList(content).some((part) => isObject(part) && typeof part.text === 'string' && mentions(part.text));
}

function reminded(message: JsonObject): JsonObject {
  const { content } = message;
  if (typeof content === 'string') return { ...message, content: [{ type: 'input_text', text: content }, REMINDER] };
  return isList(content) ? { ...message, content: [...content, REMINDER] } : message;
}
