// Moves tools and instructions into `input` in Lite (F2.5 to F2.10). Full needs no such rule (F2.7, F2.11).
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { asList, isList, isObject } from '../../proxy/turn/json/json.ts';
import { isCompaction, surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Body, Turn } from '../../proxy/turn/turn.ts';
import { explainInMode } from '../helpers/explain.ts';
import { userMessage } from '../helpers/user-message.ts';
import { RESPONSES_WORK } from '../route-groups.ts';
import { withoutImageDetail } from './image-detail.ts';
import { type Added, type Replaced, replacedBy, restore } from './lite-restoration.ts';

interface Memory {
  /** Present only if an account of another API may get the turn. */
  replaced?: Replaced;
}

/** Changes nothing if applied to its own result (F2.10). Compact bodies are rewritten before their own projection (F2.15). */
export const liteRewrite = rule<Memory>({
  name: 'lite-rewrite',
  routes: RESPONSES_WORK,
  request: (_work, turn) => (turn.model?.mode?.effective === 'lite' ? {} : SKIP),
  edit({ body }, memory, turn) {
    const { kind } = turn.route;
    const before = turn.hasApiAccounts ? { ...body } : undefined;
    const came = itemsOf(body.input);
    const items = withoutImageDetail(came, surfaceOf(kind) === 'native' ? 'typed-messages-only' : 'untyped-messages-too');
    const added = moveIntoInput(body, items, turn);
    if (before) memory.replaced = replacedBy(before, came, asList(body.input), added);
    body.parallel_tool_calls = false;
    // A compact body gets no `reasoning` beyond what the client or its key's policy set (F1.4, Q33).
    if (!isCompaction(kind) || isObject(body.reasoning)) body.reasoning = acrossAllTurns(body.reasoning);
  },
  apis: ['responses', 'chat'],
  attempt(out, { replaced }) {
    if (replaced) restore(out, replaced);
  },
  explain: explainInMode('lite', 'moves tools and instructions into input'),
});

/** The items of an input. A string is a user's message; only compact bodies can still have one here. */
function itemsOf(input: Json | undefined): readonly Json[] {
  if (typeof input === 'string') return [userMessage(input)];
  return isList(input) ? input : [];
}

function moveIntoInput(body: Body, items: readonly Json[], turn: Turn): Added {
  const declared = isList(body.tools) ? body.tools : [];
  const prefix = declared.length === 0 ? toolsPrefix(items[0]) : undefined;
  const { instructions } = body;
  const developer = typeof instructions === 'string' && instructions.trim() !== '' ? [developerMessage(instructions)] : [];
  delete body.tools;
  delete body.instructions;
  // If the input is already rewritten, the list stays the same object.
  if (prefix && prefix === items[0] && developer.length === 0) {
    body.input = items;
    return { at: 0, count: 0 };
  }
  const added = prefix ? { at: 1, count: developer.length } : { at: 0, count: 1 + developer.length };
  body.input = prefix
    ? [prefix, ...developer, ...items.slice(1)]
    : [{ type: 'additional_tools', role: 'developer', tools: declared }, ...developer, ...items];
  turn.spliced(added.at, 0, added.count);
  return added;
}

/** The leading item if it is the Lite tools prefix. An item with an id is the client's own; null counts as no id (Q33). */
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
