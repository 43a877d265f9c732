// System and developer texts of the compatible surface become top-level instructions in Full (F1.1, Q32, Q33).

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';

/** In Lite they stay where they are, since there instructions travel as developer messages anyway; native turns keep theirs (Q32). */
export const liftInstructions = rule({
  name: 'lift-instructions',
  routes: ['public-responses', 'chat'],
  request({ body }, turn) {
    if (turn.model?.mode?.effective === 'full') lift(body);
  },
});

function lift(body: Body): void {
  if (!isList(body.input) || !body.input.some(isInstruction)) return;
  const texts: string[] = [];
  const left: Json[] = [];
  for (const item of body.input) {
    const rest = isInstruction(item) ? withoutTexts(item, texts) : item;
    if (rest !== undefined) left.push(rest);
  }
  if (left.length === body.input.length && texts.length === 0) return;
  body.input = left;
  if (typeof body.instructions === 'string') texts.unshift(body.instructions);
  const instructions = texts.filter((text) => text.trim() !== '').join('\n\n');
  if (instructions !== '') body.instructions = instructions;
}

/** A message may leave its type out on this surface; other items with such a role (`additional_tools`) are no messages. */
const isInstruction = (item: Json): item is JsonObject =>
  isObject(item) && (item.type === 'message' || item.type === undefined) && (item.role === 'system' || item.role === 'developer');

/** Moves the message's texts to `texts`; what is left of it, or undefined when nothing is. */
function withoutTexts(message: JsonObject, texts: string[]): JsonObject | undefined {
  const { content } = message;
  if (typeof content === 'string') {
    texts.push(content);
    return undefined;
  }
  // Content of no known shape is the provider's to refuse.
  if (!isList(content)) return message;
  const rest = content.filter((part) => {
    const text = textOf(part);
    if (text !== undefined) texts.push(text);
    return text === undefined;
  });
  if (rest.length === content.length && rest.length > 0) return message;
  return rest.length === 0 ? undefined : { ...message, content: rest };
}

function textOf(part: Json): string | undefined {
  if (!isObject(part) || (part.type !== 'input_text' && part.type !== 'text')) return undefined;
  return typeof part.text === 'string' ? part.text : undefined;
}
