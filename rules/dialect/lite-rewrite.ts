// Moves tools and instructions into `input` in Lite (F2.5 to F2.10). Full needs no such rule (F2.7, F2.11).

import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { isList, isObject } from '../../proxy/turn/json/json.ts';
import { isCompaction, surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Body, Turn } from '../../proxy/turn/turn.ts';
import { explainInMode } from '../helpers/explain.ts';
import { userMessage } from '../helpers/user-message.ts';
import { RESPONSES_WORK } from '../route-groups.ts';
import { withoutImageDetail } from './image-detail.ts';

/** Applied to its own result it changes nothing (F2.10). Compact bodies are rewritten before their own projection (F2.15). */
export const liteRewrite = rule({
  name: 'lite-rewrite',
  routes: RESPONSES_WORK,
  edit({ body }, _memory, turn) {
    if (turn.model?.mode?.effective !== 'lite') return;
    const { kind } = turn.route;
    const items = withoutImageDetail(itemsOf(body.input), surfaceOf(kind) === 'native' ? 'typed-messages-only' : 'untyped-messages-too');
    moveIntoInput(body, items, turn);
    body.parallel_tool_calls = false;
    // Compact gets no `reasoning` beyond what the client or its key's policy set (F1.4, Q33).
    if (!isCompaction(kind) || isObject(body.reasoning)) body.reasoning = acrossAllTurns(body.reasoning);
  },
  explain: explainInMode('lite', 'moves tools and instructions into input'),
});

/** A string is a user's message; only compact bodies can still have one here. */
function itemsOf(input: Json | undefined): readonly Json[] {
  if (typeof input === 'string') return [userMessage(input)];
  return isList(input) ? input : [];
}

function moveIntoInput(body: Body, items: readonly Json[], turn: Turn): void {
  const declared = isList(body.tools) ? body.tools : [];
  const prefix = declared.length === 0 ? toolsPrefix(items[0]) : undefined;
  const { instructions } = body;
  const developer = typeof instructions === 'string' && instructions.trim() !== '' ? [developerMessage(instructions)] : [];
  delete body.tools;
  delete body.instructions;
  // Already rewritten: the list stays the same object.
  if (prefix && prefix === items[0] && developer.length === 0) body.input = items;
  else if (prefix) {
    body.input = [prefix, ...developer, ...items.slice(1)];
    turn.spliced(1, 0, developer.length);
  } else {
    body.input = [{ type: 'additional_tools', role: 'developer', tools: declared }, ...developer, ...items];
    turn.spliced(0, 0, 1 + developer.length);
  }
}

/** The leading item where it is the Lite tools prefix. An item with an id is a client's own item; null counts as no id (Q33). */
function toolsPrefix(first: Json | undefined): JsonObject | undefined {
  if (!isObject(first) || first.type !== 'additional_tools' || first.role !== 'developer') return undefined;
  if (first.id !== undefined && first.id !== null) return undefined;
  if (isList(first.tools)) return first;
  return first.tools === undefined || first.tools === null ? { ...first, tools: [] } : undefined;
}

const developerMessage = (text: string): JsonObject => ({ ...userMessage(text), role: 'developer' });

const acrossAllTurns = (reasoning: Json | undefined): JsonObject => {
  if (!isObject(reasoning)) return { context: 'all_turns' };
  return reasoning.context === 'all_turns' ? reasoning : { ...reasoning, context: 'all_turns' };
};
