// Moves system and developer texts of the compatible surface to top-level instructions in Full (F1.1, Q32, Q33).
import { asList, isAbsent, isList, isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { isCompaction } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body, Turn } from '../../proxy/turn/turn.ts';
import { explainInMode } from '../helpers/explain.ts';
import { userMessage } from '../helpers/user-message.ts';
import { LIFTED_TURNS } from '../route-groups.ts';

/**
 * In Lite such messages stay in place, because Lite sends instructions as developer messages anyway. Native turns keep theirs (Q32). A
 * lifted text is not part of the conversation that the account keeps on a websocket, so each turn that continues it sends the text
 * again.
 */
export const liftInstructions = rule({
  name: 'lift-instructions',
  routes: LIFTED_TURNS,
  request({ body }, turn) {
    const mode = turn.model?.mode?.effective;
    const { previous_response_id: anchor } = body;
    const earlier = typeof anchor === 'string' ? turn.liftedWith(anchor) : undefined;
    const lifted = mode === 'full' ? lift(body, turn) : undefined;
    if (mode === 'full') turn.lifted = joined([earlier, lifted]) || undefined;
    if (mode === undefined || (earlier === undefined && lifted === undefined)) return;
    const own = typeof body.instructions === 'string' ? body.instructions : undefined;
    const instructions = joined([own, earlier, lifted]);
    if (instructions === '') return;
    body.instructions = instructions;
    if (lifted !== undefined && !isCompaction(turn.route.kind)) keepInput(body, turn);
  },
  explain: explainInMode('full', 'lifts system and developer texts of the compatible surface'),
});

const joined = (texts: readonly (string | undefined)[]): string =>
  texts.filter((text) => text !== undefined && text.trim() !== '').join('\n\n');

/** Takes the texts out of the input. The result may be blank; undefined if there are none. */
function lift(body: Body, turn: Turn): string | undefined {
  if (!isList(body.input) || !body.input.some(isInstruction)) return undefined;
  const texts: string[] = [];
  const left: Json[] = [];
  for (const item of body.input) {
    const rest = isInstruction(item) ? withoutTexts(item, texts) : item;
    if (rest !== undefined) left.push(rest);
    else turn.spliced(left.length, 1, 0);
  }
  if (left.length === body.input.length && texts.length === 0) return undefined;
  body.input = left;
  return joined(texts);
}

/**
 * Providers refuse an empty input that continues nothing, but some clients open a conversation with only a system message. A prewarm
 * (`generate: false`) is not answered: the turn after it contains the user's message.
 */
function keepInput(body: Body, turn: Turn): void {
  if (asList(body.input).length > 0 || !isAbsent(body.previous_response_id) || body.generate === false) return;
  body.input = [userMessage('Follow the instructions.')];
  turn.spliced(0, 0, 1);
}

/**
 * Whether an item is a system or developer message. On this surface a message may have no type. Other items with such a role
 * (`additional_tools`) are not messages.
 */
const isInstruction = (item: Json): item is JsonObject =>
  isObject(item) && (item.type === 'message' || isAbsent(item.type)) && (item.role === 'system' || item.role === 'developer');

/** Moves the message's texts to `texts`; returns the rest of the message, or undefined if nothing is left. */
function withoutTexts(message: JsonObject, texts: string[]): JsonObject | undefined {
  const { content } = message;
  if (typeof content === 'string') {
    texts.push(content);
    return undefined;
  }
  // Content of an unknown shape stays, and the provider refuses it.
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
