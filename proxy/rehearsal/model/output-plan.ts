// Plans the output of a turn: the demonstration text, or what the last user message asks for in the prompt language.
//
// A line of the last user message may be one of these; the rest of the message is then ignored:
//   call the tool [NAMESPACE.]NAME [without namespace] [with INPUT]   a call of a declared function or custom tool; INPUT is the
//                                  arguments' JSON or the free text; default: the smallest arguments that the schema allows
//   think: TEXT                    the text of the reasoning, if the turn reasons; this line is then removed from the message
//   say: TEXT                      a message of exactly this text
//   write N words                  a message of that many words
//   decline                        a message that is a refusal
//   draw: PICTURE                  a call of the declared image_generation tool; also without this line if `tool_choice` demands a
//                                  call and permits no other tool that is declared
//   search: QUERY                  a call of the declared web search, and a message that cites its source; also a line that asks for a
//                                  `web search for the query: QUERY`, for agents that search in a separate turn
//   draw nothing                   a call of the image tool that fails
//   stop short                     ends the turn as incomplete (max_output_tokens)
//   stop filtered                  ends the turn as incomplete (content_filter)
//   rehearse: SCRIPT               the failures of a fault script (fault-injection.ts); no output
// After the output of a tool these lines are ignored.
// `tool_choice`, `text.format`, `max_output_tokens` and a trailing compaction_trigger are followed too.
import { asList, isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { exampleOf } from './schema-example.ts';
import { drawsNothing } from './simulated-image.ts';
import type { SimulatedTool, TurnRequest } from './turn-request.ts';

export type OutputPart =
  | { readonly kind: 'text'; readonly text: string; readonly source?: string }
  /** `sources` is undefined if the request does not ask for them. */
  | { readonly kind: 'search'; readonly query: string; readonly sources: readonly string[] | undefined }
  | { readonly kind: 'refusal'; readonly text: string }
  /** `namespace`: as the call states it. */
  | { readonly kind: 'call'; readonly tool: SimulatedTool; readonly input: string; readonly namespace: string | undefined }
  /** A call of the image tool. `prompt` is undefined for a call without an image. */
  | { readonly kind: 'image'; readonly tool: JsonObject; readonly prompt: string | undefined }
  | { readonly kind: 'compaction' };

export interface OutputPlan {
  readonly parts: readonly OutputPart[];
  /** The reasoning of a turn that reasons. */
  readonly thought: string;
  /** The reason why the turn ends as `incomplete`; undefined if it completes. */
  readonly incomplete: 'max_output_tokens' | 'content_filter' | undefined;
}

export const CHARACTERS_PER_TOKEN = 4;

const MAX_ECHO_CHARACTERS = 400;
const MAX_WORDS = 100_000;
const VOCABULARY = ['north', 'south', 'wind', 'rain', 'stage', 'curtain', 'light', 'voice', 'again', 'slowly'];

/** @param account the name that the demonstration text mentions */
export function planOf(request: TurnRequest, account: string): OutputPlan {
  const thought = /^\s*think: (.+)$/im.exec(request.userText)?.[1] ?? 'Rehearsing an answer.';
  if (request.wantsCompaction) return { parts: [{ kind: 'compaction' }], thought, incomplete: undefined };
  const stops = /^\s*stop (short|filtered)\s*$/im.exec(request.userText)?.[1]?.toLowerCase();
  const asked = request.toolOutput === undefined ? request.userText.split('\n').flatMap((line) => partsOf(line, request)) : [];
  const parts = asked.length > 0 ? asked : demandedCall(request);
  const planned = parts.length > 0 ? allowedCalls(parts, request) : [text(answerText(request, account))];
  return { thought, ...truncated(planned, request, stops) };
}

const text = (words: string): OutputPart => ({ kind: 'text', text: words });

function partsOf(line: string, request: TurnRequest): readonly OutputPart[] {
  const call = /^\s*call the tool (\S+)( without namespace)?(?: with (.+))?\s*$/i.exec(line);
  if (call?.[1] !== undefined) return [callOf(call[1], call[3], call[2] === undefined, request)];
  const exactly = /^\s*say: (.+)$/i.exec(line)?.[1];
  if (exactly !== undefined) return [text(exactly)];
  const count = /^\s*write (\d{1,6}) words\s*$/i.exec(line)?.[1];
  if (count !== undefined) return [text(wordsOf(Math.min(Number(count), MAX_WORDS)))];
  const query = /^\s*(?:search: |.*\bweb search for the query: )(.+)$/i.exec(line)?.[1];
  if (query !== undefined && request.searches) return searched(query, request);
  const picture = /^\s*draw: (.+)$/i.exec(line)?.[1];
  if (picture !== undefined && request.imageTool) return [{ kind: 'image', tool: request.imageTool, prompt: picture }];
  return /^\s*decline\s*$/i.test(line) ? [{ kind: 'refusal', text: 'The rehearsal provider declines, as it was asked to.' }] : [];
}

/** A search, and a message that cites what it found. */
function searched(query: string, { body }: TurnRequest): readonly OutputPart[] {
  const source = `https://rehearsal.example/${encodeURIComponent(query).slice(0, 100)}`;
  return [
    { kind: 'search', query, sources: asList(body.include).includes('web_search_call.action.sources') ? [source] : undefined },
    { kind: 'text', text: `The rehearsal provider found this about ${query}.`, source },
  ];
}

function callOf(named: string, input: string | undefined, namespaced: boolean, request: TurnRequest): OutputPart {
  const tool = request.tools.find(
    ({ name, namespace }) => named === name || named === `${namespace}.${name}` || named.replace('.', '__') === name,
  );
  if (tool === undefined) return text(`No tool of the name ${named} was declared.`);
  return {
    kind: 'call',
    tool,
    input: input === undefined ? defaultInput(tool) : inputFor(tool, input),
    namespace: namespaced ? tool.namespace : undefined,
  };
}

/** A function whose one argument is a text `input` gets a text as that argument: what was a custom tool is declared so (AA27). */
function inputFor({ kind, parameters }: SimulatedTool, input: string): string {
  const properties = isObject(parameters) && isObject(parameters.properties) ? parameters.properties : {};
  const isText = Object.keys(properties).join() === 'input' && isObject(properties.input) && properties.input.type === 'string';
  return kind === 'function' && isText && !input.trimStart().startsWith('{') ? JSON.stringify({ input }) : input;
}

function defaultInput(tool: SimulatedTool): string {
  return tool.kind === 'custom' ? 'rehearsal input' : JSON.stringify(exampleOf(tool.parameters ?? { type: 'object' }));
}

/** The call that `tool_choice` demands. After a tool's output there is none, because a model would then answer in text. */
function demandedCall({ body, tools, imageTool, toolOutput, userText }: TurnRequest): readonly OutputPart[] {
  const choice = choiceOf(body);
  if (toolOutput !== undefined || !choice.isRequired) return [];
  const tool = tools.find(choice.permits);
  if (tool) return [{ kind: 'call', tool, input: defaultInput(tool), namespace: tool.namespace }];
  if (!imageTool || !choice.permits({ kind: 'image_generation' })) return [];
  return [{ kind: 'image', tool: imageTool, prompt: drawsNothing(userText) ? undefined : userText }];
}

/** What `tool_choice` demands. */
interface Choice {
  readonly isRequired: boolean;
  /** Whether the tool may be called. A hosted tool has no name. */
  permits(tool: { readonly kind: string; readonly name?: string }): boolean;
}

function choiceOf({ tool_choice: choice }: JsonObject): Choice {
  if (!isObject(choice)) return { isRequired: choice === 'required', permits: () => choice !== 'none' };
  const isNamed = choice.type !== 'allowed_tools';
  const permitted = isNamed ? [choice] : asList(choice.tools).filter(isObject);
  return {
    isRequired: isNamed || choice.mode === 'required',
    permits: ({ kind, name }) => permitted.some((one) => (name === undefined ? one.type === kind : one.name === name)),
  };
}

/** Applies `tool_choice` and `parallel_tool_calls: false`. */
function allowedCalls(parts: readonly OutputPart[], { body }: TurnRequest): readonly OutputPart[] {
  const { permits } = choiceOf(body);
  const permitted = parts.map((part) =>
    part.kind === 'call' && !permits(part.tool) ? text(`The tool ${part.tool.name} may not be called.`) : part,
  );
  if (body.parallel_tool_calls !== false) return permitted;
  const first = permitted.findIndex(({ kind }) => kind === 'call');
  return permitted.filter((part, i) => part.kind !== 'call' || i === first);
}

function answerText({ body, userText, toolOutput }: TurnRequest, account: string): string {
  const format: Json | undefined = isObject(body.text) ? body.text.format : undefined;
  if (isObject(format) && format.type === 'json_schema') return JSON.stringify(exampleOf(format.schema));
  if (isObject(format) && format.type === 'json_object') return '{"rehearsal":true}';
  const echo = (words: string): string => (words.length > MAX_ECHO_CHARACTERS ? `${words.slice(0, MAX_ECHO_CHARACTERS)}…` : words);
  const intro = `This is the rehearsal provider answering as ${account}.`;
  if (toolOutput !== undefined) return `${intro} The tool answered: ${echo(toolOutput)}`;
  return userText === '' ? `${intro} You said nothing.` : `${intro} You said: ${echo(userText)}`;
}

function wordsOf(count: number): string {
  return Array.from({ length: count }, (_, i) => VOCABULARY[i % VOCABULARY.length]).join(' ');
}

/** Applies `max_output_tokens` to the text. A turn with truncated text is incomplete. */
function truncated(parts: readonly OutputPart[], { body }: TurnRequest, stops: string | undefined): Omit<OutputPlan, 'thought'> {
  const tokens = body.max_output_tokens;
  let room = typeof tokens === 'number' ? tokens * CHARACTERS_PER_TOKEN : Number.POSITIVE_INFINITY;
  let cut = stops === 'short';
  const fitting = parts.map((part) => {
    if (part.kind !== 'text') return part;
    const kept = part.text.slice(0, room);
    cut ||= kept.length < part.text.length;
    room -= kept.length;
    return kept === part.text ? part : text(kept);
  });
  return { parts: fitting, incomplete: stops === 'filtered' ? 'content_filter' : cut ? 'max_output_tokens' : undefined };
}

/**
 * Splits text into words, each with the space that follows it. Long words are split into pieces of 12 characters, so that JSON is split
 * inside strings.
 */
export function deltasOf(text: string): readonly string[] {
  const words = text.match(/\S+\s*|\s+/g) ?? [];
  return words.flatMap((word) => (word.length > 24 ? (word.match(/[\s\S]{1,12}/gu) ?? []) : [word]));
}
