// The items of a turn's input in the form of the public Responses API: with its members only, and without references to stored responses
// (AA28).
import type { ItemPlaces } from '../../turn/errors/item-places.ts';
import { asList, isAbsent, isList, isObject, isText, type Json, type JsonObject, mapList } from '../../turn/json/json.ts';
import type { Adaptations } from '../../turn/provider/adapted.ts';
import { capsuleIn, isBareReasoning } from '../../turn/provider/capsule.ts';

/** The members of each type, besides `id` and `status`. An item of another type is passed on unchanged. */
const MEMBERS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    message: ['role', 'content', 'phase'],
    reasoning: ['summary', 'content', 'encrypted_content'],
    function_call: ['call_id', 'name', 'namespace', 'arguments'],
    function_call_output: ['call_id', 'output'],
    custom_tool_call: ['call_id', 'name', 'namespace', 'input'],
    custom_tool_call_output: ['call_id', 'output'],
    local_shell_call: ['call_id', 'action'],
    local_shell_call_output: ['call_id', 'output'],
    tool_search_call: ['call_id', 'execution', 'arguments'],
    tool_search_output: ['call_id', 'execution', 'tools'],
    web_search_call: ['action'],
    image_generation_call: ['result', 'revised_prompt', 'background', 'output_format', 'quality', 'size'],
    compaction: ['encrypted_content'],
    compaction_trigger: [],
  }).map(([type, members]) => [type, new Set(['type', ...members])]),
);

const PART_MEMBERS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    input_text: ['text'],
    input_image: ['image_url', 'file_id', 'detail'],
    input_file: ['file_id', 'file_data', 'file_url', 'filename', 'detail'],
    input_audio: ['input_audio'],
    output_text: ['text', 'annotations', 'logprobs'],
    refusal: ['refusal'],
    summary_text: ['text'],
    reasoning_text: ['text'],
  }).map(([type, members]) => [type, new Set(['type', ...members])]),
);

/** Whether an item may need an id and a status (`item_ids`). */
const isAssistant = ({ type, role }: JsonObject): boolean => (type === undefined || type === 'message') && role === 'assistant';

/** Calls that the provider ran itself. Their id identifies them. */
const IDENTIFIED: ReadonlySet<Json | undefined> = new Set(['web_search_call', 'image_generation_call']);

export interface InputItemOptions {
  /** Whether assistant messages need an id and a status. */
  readonly itemIds: boolean;
  /** Collects the names of what was removed. */
  readonly adapted: Adaptations;
  /** Collects the places of items that are left out. */
  readonly places?: ItemPlaces | undefined;
}

export function publicItems(input: readonly Json[], options: InputItemOptions): readonly Json[] {
  const kept = input.filter((item) => !isUnusable(item));
  if (kept.length < input.length) {
    options.adapted.note('input.reasoning');
    options.places?.filtered(input, kept);
  }
  return mapList(kept, (item, at) => (isObject(item) ? publicItem(item, at, options) : item));
}

/**
 * Whether a reasoning item is of no use: its maker cannot look it up, because nothing is stored, or it is a capsule for chat accounts
 * (AA22).
 */
const isUnusable = (item: Json): boolean =>
  isObject(item) && item.type === 'reasoning' && (isBareReasoning(item) || capsuleIn(item) !== undefined);

function publicItem(item: JsonObject, at: number, { itemIds, adapted }: InputItemOptions): JsonObject {
  const type = item.type === undefined && item.role !== undefined ? 'message' : item.type;
  const members = typeof type === 'string' ? MEMBERS.get(type) : undefined;
  if (!members) return item;
  const kept: Record<string, Json | undefined> = {};
  const keepsId = IDENTIFIED.has(type) || (itemIds && isAssistant(item));
  for (const [name, value] of Object.entries(item)) {
    const isIdentity = name === 'id' || name === 'status';
    if (members.has(name) || (isIdentity && keepsId)) kept[name] = value;
    else if (isIdentity && !isAbsent(value)) adapted.note(`input.${name}`);
  }
  kept.type = type as string;
  if (isList(item.content)) kept.content = publicParts(item.content);
  if (isList(item.output)) kept.output = publicParts(item.output);
  // The API refuses reasoning without a summary, but accepts an empty one.
  if (type === 'reasoning') kept.summary = asList(item.summary);
  if (itemIds && isAssistant(item)) {
    // The id depends only on the place, so that equal turns give equal bytes and prompt caches can be used.
    kept.id = isText(item.id) ? item.id : `msg_${at}`;
    kept.status = isText(item.status) ? item.status : 'completed';
  }
  return kept;
}

const publicParts = (parts: readonly Json[]): readonly Json[] =>
  mapList(parts, (part) => {
    if (!isObject(part) || typeof part.type !== 'string') return part;
    const members = PART_MEMBERS.get(part.type);
    if (!members || Object.keys(part).every((name) => members.has(name))) return part;
    return Object.fromEntries(Object.entries(part).filter(([name]) => members.has(name)));
  });
