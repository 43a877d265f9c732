// What a turn needs from an account, read once from its Responses body for all API accounts of its Pool (AA18). It contains no text of the
// client.
import { asList, asString, isList, isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import type { AskedTurn } from '../../../turn/provider/lack.ts';
import type { Modality } from '../../../turn/provider/served.ts';
import { endsInTrigger } from '../../../turn/trigger-item.ts';
import type { Body } from '../../../turn/turn.ts';
import { askedEffort } from '../../../turn/wire/efforts.ts';
import { type DeclaredHosted, type DeclaredTools, hostedTool, toolDeclarations } from './needed-tools.ts';

/** An image, a file or audio of the input. */
export interface NeededInput {
  readonly modality: Exclude<Modality, 'text'>;
  /** `data`: the request contains the bytes. */
  readonly form: 'data' | 'url';
  readonly place: string;
  /**
   * Whether the input is in a tool output before the last user message. An account that does not take it then gets a text in its place
   * (AA43).
   */
  readonly isPast: boolean;
}

export interface TurnNeeds extends DeclaredTools {
  readonly isAnchored: boolean;
  /** The first reference to a file at a provider. */
  readonly file: string | undefined;
  /** The first item, or part of an item, that no API account knows. */
  readonly unknownItem: string | undefined;
  /** The first item, or part of an item, that the public Responses API may know and Chat cannot express (AA46). */
  readonly unknownInChat: string | undefined;
  /** Whether the input ends in a compaction trigger. */
  readonly compacts: boolean;
  readonly choice: 'required' | 'named' | undefined;
  /** A tool of the provider that the turn requires. */
  readonly requiredHosted: DeclaredHosted | undefined;
  readonly hasSchema: boolean;
  readonly inputs: readonly NeededInput[];
  readonly effort: string | undefined;
}

const needs = new WeakMap<AskedTurn, TurnNeeds>();

/** Undefined if the body of the turn was not read. */
export function needsOf(turn: AskedTurn): TurnNeeds | undefined {
  if (!turn.body) return undefined;
  let known = needs.get(turn);
  if (!known) {
    known = read(turn.body);
    needs.set(turn, known);
  }
  return known;
}

/** Items that every API account can get in some form. Calls of hosted tools are left out if the account lacks the tool (AA20). */
const KNOWN_ITEMS: ReadonlySet<string> = new Set([
  'message',
  'reasoning',
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'tool_search_call',
  'tool_search_output',
  'web_search_call',
  'image_generation_call',
  'additional_tools',
  'configuration_update',
  'compaction',
  'compaction_trigger',
]);

const TEXT_PARTS: ReadonlySet<string> = new Set(['input_text', 'output_text', 'text', 'refusal', 'summary_text', 'reasoning_text']);

const ROLES: ReadonlySet<Json | undefined> = new Set(['user', 'assistant', 'system', 'developer']);

/** The member because of which an item has no form in Chat; empty for the item itself. Undefined for all other items. */
function unknownMember(item: JsonObject, type: string, isLast: boolean): string | undefined {
  if (type === 'message' && !ROLES.has(item.role)) return '.role';
  // Summaries were opened before, and other compactions stay with their maker.
  if (type === 'compaction' && typeof item.encrypted_content !== 'string') return '';
  return type === 'compaction_trigger' && !isLast ? '' : undefined;
}

const MODALITY_OF: Readonly<Record<string, NeededInput['modality']>> = {
  input_image: 'image',
  input_file: 'file',
  input_audio: 'audio',
};

/** The type of an item. A message without a type has a role. */
const itemType = (item: JsonObject): string | undefined => asString(item.type) ?? (typeof item.role === 'string' ? 'message' : undefined);

function read(body: Body): TurnNeeds {
  const items = isList(body.input) ? body.input : [];
  const declared = toolDeclarations(body);
  const choice = choiceOf(body.tool_choice);
  return {
    ...declared,
    ...inputsOf(items),
    isAnchored: typeof body.previous_response_id === 'string',
    compacts: endsInTrigger(body),
    choice,
    requiredHosted: requiredHosted(body.tool_choice, choice, declared),
    hasSchema: isObject(body.text) && isObject(body.text.format) && body.text.format.type === 'json_schema',
    effort: askedEffort(body),
  };
}

function inputsOf(items: readonly Json[]): Pick<TurnNeeds, 'inputs' | 'file' | 'unknownItem' | 'unknownInChat'> {
  const lastUser = items.findLastIndex((item) => isObject(item) && itemType(item) === 'message' && item.role === 'user');
  const inputs: NeededInput[] = [];
  let file: string | undefined;
  let unknownItem: string | undefined;
  let unknownInChat: string | undefined;
  for (const [i, item] of items.entries()) {
    const type = isObject(item) ? itemType(item) : undefined;
    if (!isObject(item) || type === undefined || !KNOWN_ITEMS.has(type)) {
      unknownItem ??= `input.${i}`;
      continue;
    }
    const unknown = unknownMember(item, type, i === items.length - 1);
    if (unknown !== undefined) unknownInChat ??= `input.${i}${unknown}`;
    const member = type === 'message' ? 'content' : 'output';
    const parts = item[member];
    if (!isList(parts)) continue;
    for (const [j, part] of parts.entries()) {
      const place = `input.${i}.${member}.${j}`;
      const kind = isObject(part) ? asString(part.type) : undefined;
      const needed = isObject(part) ? neededFor(part) : undefined;
      if (isObject(part) && needed) {
        if (typeof part.file_id === 'string') file ??= place;
        else inputs.push({ ...needed, place, isPast: member === 'output' && i < lastUser });
      } else if (kind === undefined || (type === 'message' && !TEXT_PARTS.has(kind))) unknownItem ??= place;
      else if (!TEXT_PARTS.has(kind)) unknownInChat ??= place;
    }
  }
  return { inputs, file, unknownItem, unknownInChat };
}

/** What an account needs for a part; undefined for a text. */
export function neededFor(part: JsonObject): Pick<NeededInput, 'modality' | 'form'> | undefined {
  const modality = MODALITY_OF[asString(part.type) ?? ''];
  return modality && { modality, form: formOf(part, modality) };
}

function formOf(part: JsonObject, modality: NeededInput['modality']): NeededInput['form'] {
  if (modality === 'audio') return 'data';
  if (modality === 'file') return typeof part.file_data === 'string' ? 'data' : 'url';
  return typeof part.image_url === 'string' && part.image_url.startsWith('data:') ? 'data' : 'url';
}

/** The mode of a tool choice. `allowed_tools` states a mode of its own. */
function choiceOf(choice: Json | undefined): TurnNeeds['choice'] {
  if (choice === 'required') return 'required';
  if (!isObject(choice)) return undefined;
  if (choice.type === 'allowed_tools') return choice.mode === 'required' ? 'required' : undefined;
  return 'named';
}

/** The tool of the provider that is named, or that is the only kind of tool which a required call may use (AA19). */
function requiredHosted(
  choice: Json | undefined,
  kind: TurnNeeds['choice'],
  { hosted, hasCallable }: DeclaredTools,
): TurnNeeds['requiredHosted'] {
  if (kind === undefined) return undefined;
  if (!isObject(choice)) return hasCallable ? undefined : hosted[0];
  const permitted = kind === 'named' ? [choice] : asList(choice.tools).filter(isObject);
  const [first, ...others] = permitted.map(hostedTool);
  return others.includes(undefined) ? undefined : hosted.find(({ tool }) => tool === first);
}
