// Moves tools and instructions into `input` in Lite (F2.5 to F2.10). Full needs no such rule (F2.7, F2.11). Accounts of other APIs do not
// know Lite, and get the turn as it was before (AA26).
import { asList, isAbsent, isList, isObject, type Json, type JsonObject, mapList, mapMembers } from '../../proxy/turn/json/json.ts';
import { isCompaction, surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule, SKIP } from '../../proxy/turn/rules/rule.ts';
import type { Body, Outgoing, Turn } from '../../proxy/turn/turn.ts';
import { explainInMode } from '../helpers/explain.ts';
import { inputItems, userMessage } from '../helpers/user-message.ts';
import { RESPONSES_WORK } from '../route-groups.ts';

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
    const came = inputItems(body.input);
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

/** The compatible surface accepts messages without a type; native items without a type stay unchanged (Q33). */
type MessageTyping = 'untyped-messages-too' | 'typed-messages-only';

/** Returns the same list if nothing was removed. */
const withoutImageDetail = (input: readonly Json[], typing: MessageTyping): readonly Json[] =>
  mapList(input, (item) => {
    if (!isObject(item)) return item;
    const member = contentMember(item, typing);
    const content = member === undefined ? undefined : item[member];
    if (member === undefined || content === undefined) return item;
    const stripped = stripImages(content);
    return stripped === content ? item : { ...item, [member]: stripped };
  });

/** The member in which an item of this type holds content parts; other items are not searched. */
function contentMember(item: JsonObject, typing: MessageTyping): 'content' | 'output' | undefined {
  if (item.type === 'message') return 'content';
  if (item.type === 'function_call_output' || item.type === 'custom_tool_call_output') return 'output';
  return isAbsent(item.type) && typing === 'untyped-messages-too' ? 'content' : undefined;
}

/** Removes `detail` at any depth of the content (Q33). The depth of a body is bounded before rules get it, so recursion is safe. */
function stripImages(value: Json): Json {
  if (isList(value)) return mapList(value, stripImages);
  if (!isObject(value)) return value;
  if (value.type !== 'input_image') return mapMembers(value, stripImages);
  if (value.detail === undefined) return value;
  const { detail: _, ...image } = value;
  return image;
}

/** What the rewrite replaced. Items that it kept have no entry. */
interface Replaced {
  readonly members: Pick<Body, 'tools' | 'instructions' | 'parallel_tool_calls' | 'reasoning'>;
  readonly added: Added;
  /** Maps each new item to the item that it replaced; to undefined if the rewrite added it. */
  readonly items: ReadonlyMap<Json, Json | undefined>;
}

/** The items that the rewrite has added. */
interface Added {
  readonly at: number;
  readonly count: number;
}

/** @param items the original items. @param rewritten the items after the rewrite */
function replacedBy(before: Body, items: readonly Json[], rewritten: readonly Json[], added: Added): Replaced {
  const { at, count } = added;
  const replaced = new Map<Json, Json | undefined>();
  for (const [i, item] of rewritten.entries()) {
    const came = i < at ? items[i] : i < at + count ? undefined : items[i - count];
    if (came !== item) replaced.set(item, came);
  }
  const { tools, instructions, parallel_tool_calls, reasoning } = before;
  return { members: { tools, instructions, parallel_tool_calls, reasoning }, added, items: replaced };
}

/** Restores the turn. Items that were changed or left out after the rewrite stay so. */
function restore({ body, places }: Pick<Outgoing, 'body' | 'places'>, { members, added, items }: Replaced): void {
  places?.splice(added.at, added.count, 0);
  const { reasoning, ...others } = members;
  for (const [name, value] of Object.entries(others)) {
    if (value === undefined) delete body[name];
    else body[name] = value;
  }
  if (isObject(body.reasoning)) body.reasoning = reasoning ?? {};
  body.input = asList(body.input).flatMap((item) => {
    if (!items.has(item)) return [item];
    const came = items.get(item);
    return came === undefined ? [] : [came];
  });
}
