// Validates the answer of a compaction, and converts it into the form that its client expects (F3.2, F3.3, F3.7, Q27).
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import { asList, isAbsent, isObject, isText, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { surfaceOf } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import type { Turn } from '../../proxy/turn/turn.ts';
import { COMPACTIONS } from '../route-groups.ts';
import { isCompactionItem } from './conversation-items.ts';

export const compactionAnswer = rule({
  name: 'compaction-answer',
  routes: COMPACTIONS,
  answer(response, _memory, turn) {
    const item = compactionIn(response);
    if (!item) throw new Refusal('invalid_compaction_response');
    if (surfaceOf(turn.route.kind) === 'public') return completedResponse(response, replayItem(item), turn);
    if (response.object === 'response') return compactAnswer(response, item);
    return asList(response.output).includes(item) ? response : { ...response, output: [item] };
  },
});

/** The one compaction of a complete answer; undefined if there is none, more than one, or one without its content. */
function compactionIn({ status, output, compaction_summary }: JsonObject): JsonObject | undefined {
  const items = asList(output).filter(isObject);
  const compactions = items.filter(isCompactionItem);
  // If there is a compaction, its summary repeats it.
  const summaries = [...items.filter(({ type }) => type === SUMMARY), compaction_summary].filter(isObject).slice(0, 1);
  const [item, ...others]: readonly JsonObject[] =
    compactions.length > 0 ? compactions : summaries.map((summary): JsonObject => ({ ...summary, type: 'compaction' }));
  const complete = isAbsent(status) || status === 'completed';
  return complete && item && others.length === 0 && isText(item.encrypted_content) ? item : undefined;
}

/** The name of the item on the compact path of some backends. Other backends had it as a member of the answer, next to messages (RB35). */
const SUMMARY = 'compaction_summary';

/** The response of a turn in the form of the compact path's answer. */
const compactAnswer = ({ id, created_at, usage }: JsonObject, item: JsonObject): JsonObject => ({
  id,
  object: 'response.compaction',
  created_at,
  output: [item],
  usage,
});

/** The item with only the fields that are accepted when a client sends it back (F3.4). */
function replayItem({ id, encrypted_content }: JsonObject): JsonObject {
  const named = id === null || typeof id === 'string' ? { id } : {};
  return { ...named, type: 'compaction', encrypted_content };
}

/** A completed Responses object. Members that the provider states are its own. */
function completedResponse(response: JsonObject, item: JsonObject, turn: Turn): JsonObject {
  const created = integer(response.created_at) ?? Math.floor(turn.at / 1000);
  const own = {
    id: isText(response.id) ? response.id : turn.id.replace(/^req_/, 'resp_'),
    object: 'response',
    created_at: created,
    completed_at: integer(response.completed_at) ?? created,
    status: 'completed',
    model: turn.model?.id,
    output: [item],
  };
  return { ...own, ...UNSTATED, ...response, ...own };
}

const integer = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;

/** Defaults of the public API's members that the compact path does not state. */
const UNSTATED: JsonObject = Object.freeze({
  background: false,
  error: null,
  incomplete_details: null,
  instructions: null,
  max_output_tokens: null,
  metadata: {},
  parallel_tool_calls: false,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: null,
  text: { format: { type: 'text' } },
  tool_choice: 'auto',
  tools: [],
  top_p: null,
  truncation: 'disabled',
  usage: null,
});
