// Compacts with one turn: the conversation, and a last message that asks for a summary of it (AA48).
import { isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { LiveTurn } from '../../../turn/live-turn.ts';
import { isCompaction } from '../../../turn/routes/kinds.ts';
import { endsInTrigger, isTrigger } from '../../../turn/trigger-item.ts';
import type { Body } from '../../../turn/turn.ts';

/** The longest summary. A longer one would not compact the conversation. */
const MOST_OUTPUT_TOKENS = 8_192;

const QUESTION = `Summarise this conversation, so that another assistant can continue the work from your summary alone. State:
- the goals of the user, and every wish and limit that the user has stated;
- the decisions that were taken, with their reasons;
- the files, commands, names and values that matter, exactly as they were written;
- what is done, what is under way, and what is known to be wrong;
- the next steps.
Write the summary alone, as plain text. Do not continue the work, and do not call tools.`;

/** Whether the turn asks for a compaction, by its kind or, on native routes, by the end of its input. */
export const isSummary = ({ route }: Pick<LiveTurn, 'route'>, body: Body): boolean => isCompaction(route.kind) || endsInTrigger(body);

/** @param body as the rules left it @returns a new body */
export function summaryRequest(body: Body): Body {
  const { tools: _tools, tool_choice: _choice, parallel_tool_calls: _parallel, text: _text, ...rest } = body;
  const asked = typeof body.max_output_tokens === 'number' ? body.max_output_tokens : MOST_OUTPUT_TOKENS;
  const max_output_tokens = Math.min(asked, MOST_OUTPUT_TOKENS);
  return { ...rest, input: [...itemsOf(body.input), { type: 'message', role: 'user', content: QUESTION }], max_output_tokens };
}

function itemsOf(input: Json | undefined): readonly Json[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return isList(input) ? input.filter((item) => !isTrigger(item) && !addsTools(item)) : [];
}

const addsTools = (item: Json): item is JsonObject => isObject(item) && item.type === 'additional_tools';
