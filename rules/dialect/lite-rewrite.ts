// Lite carries tools and instructions inside `input` (F2.5 to F2.10); Full is sent as it came (F2.7, F2.11), so no rule does it.

import type { Json, JsonObject } from '../../proxy/turn/json.ts';
import { isList, isObject } from '../../proxy/turn/json.ts';
import type { Body } from '../../proxy/turn/turn.ts';
import { rule } from '../rule.ts';
import { withoutImageDetail } from './image-detail.ts';

/** Normalising a normalised body changes nothing (F2.10). Compact bodies get it before their own projection (F2.15). */
export const liteRewrite = rule({
  name: 'lite-rewrite',
  routes: ['responses', 'compact', 'public-responses', 'chat'],
  request({ body }, turn) {
    if (turn.model?.mode?.effective !== 'lite') return;
    const { kind } = turn.route;
    const native = kind === 'responses' || kind === 'compact';
    moveIntoInput(body, withoutImageDetail(itemsOf(body.input), native ? 'typed-messages-only' : 'untyped-messages-too'));
    body.parallel_tool_calls = false;
    // On compact nothing is added beyond the client's own (or the policy's) reasoning object (F1.4, Q33).
    if (kind !== 'compact' || isObject(body.reasoning)) body.reasoning = acrossAllTurns(body.reasoning);
  },
});

/** A string is a user's message; only compact bodies still have one here. */
function itemsOf(input: Json | undefined): readonly Json[] {
  if (typeof input === 'string') return [messageOf('user', input)];
  return isList(input) ? input : [];
}

function moveIntoInput(body: Body, items: readonly Json[]): void {
  const declared = isList(body.tools) ? body.tools : [];
  const prefix = declared.length === 0 ? toolsPrefix(items[0]) : undefined;
  const { instructions } = body;
  const developer = typeof instructions === 'string' && instructions.trim() !== '' ? [messageOf('developer', instructions)] : [];
  delete body.tools;
  delete body.instructions;
  // Already in shape: the list stays the same object.
  if (prefix && prefix === items[0] && developer.length === 0) body.input = items;
  else if (prefix) body.input = [prefix, ...developer, ...items.slice(1)];
  else body.input = [{ type: 'additional_tools', role: 'developer', tools: declared }, ...developer, ...items];
}

/** The leading item, where it is the Lite tools prefix and not a client's own item, which has an id; null is no id (Q33). */
function toolsPrefix(first: Json | undefined): JsonObject | undefined {
  if (!isObject(first) || first.type !== 'additional_tools' || first.role !== 'developer') return undefined;
  if (first.id !== undefined && first.id !== null) return undefined;
  if (isList(first.tools)) return first;
  return first.tools === undefined || first.tools === null ? { ...first, tools: [] } : undefined;
}

const messageOf = (role: 'developer' | 'user', text: string): JsonObject => ({
  type: 'message',
  role,
  content: [{ type: 'input_text', text }],
});

const acrossAllTurns = (reasoning: Json | undefined): JsonObject => {
  if (!isObject(reasoning)) return { context: 'all_turns' };
  return reasoning.context === 'all_turns' ? reasoning : { ...reasoning, context: 'all_turns' };
};
