// What a turn answers: the demo text, or what the last user message asks for in the prompt language.
//
// A line of the last user message may say (the rest of the message is then not answered):
//   call the tool [NAMESPACE.]NAME [without namespace] [with INPUT]   a call of a declared function or custom tool; INPUT is the
//                                  arguments' JSON or the free text; default: the smallest arguments that the schema allows
//   say: TEXT                      a message of exactly this text
//   write N words                  a message of that many words
//   decline                        a message that is a refusal
//   stop short                     ends the turn as incomplete (max_output_tokens)
// `tool_choice` is honoured without any of them, and so are `text.format`, `max_output_tokens` and a trailing compaction_trigger.
import type { Json } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';
import { exampleOf } from './example.ts';
import type { DeclaredTool, Prompt } from './prompt.ts';
import { listOf, textOf } from './reading.ts';

export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  /** `namespace`: what the call says of it; absent when left out. */
  | { readonly kind: 'call'; readonly tool: DeclaredTool; readonly input: string; readonly namespace: string | undefined }
  | { readonly kind: 'compaction' };

export interface Plan {
  readonly parts: readonly Part[];
  readonly stopsShort: boolean;
}

/** Text costs a token for every four characters. */
export const charactersPerToken = 4;

const longestEcho = 400;
const mostWords = 100_000;
const vocabulary = ['north', 'south', 'wind', 'rain', 'stage', 'curtain', 'light', 'voice', 'again', 'slowly'];

/** What the account answers; `name` is how it calls itself in the demo text. */
export function planOf(prompt: Prompt, name: string): Plan {
  if (prompt.wantsCompaction) return { parts: [{ kind: 'compaction' }], stopsShort: false };
  const stopsShort = /^\s*stop short\s*$/im.test(prompt.said);
  const asked = prompt.toolOutput === undefined ? prompt.said.split('\n').flatMap((line) => askedBy(line, prompt)) : [];
  const parts = asked.length > 0 ? asked : [...chosenCall(prompt)];
  return cutToSize(parts.length > 0 ? oneCallAtATime(parts, prompt) : [text(answerText(prompt, name))], prompt, stopsShort);
}

const text = (words: string): Part => ({ kind: 'text', text: words });

function askedBy(line: string, prompt: Prompt): readonly Part[] {
  const call = /^\s*call the tool (\S+)( without namespace)?(?: with (.+))?\s*$/i.exec(line);
  if (call?.[1] !== undefined) return [callOf(call[1], call[3], call[2] === undefined, prompt)];
  const exactly = /^\s*say: (.+)$/i.exec(line)?.[1];
  if (exactly !== undefined) return [text(exactly)];
  const count = /^\s*write (\d{1,6}) words\s*$/i.exec(line)?.[1];
  if (count !== undefined) return [text(wordsOf(Math.min(Number(count), mostWords)))];
  return /^\s*decline\s*$/i.test(line) ? [{ kind: 'refusal', text: 'The rehearsal provider declines, as it was asked to.' }] : [];
}

function callOf(named: string, input: string | undefined, namespaced: boolean, prompt: Prompt): Part {
  const tool = prompt.tools.find(({ name, namespace }) => named === name || named === `${namespace}.${name}`);
  if (tool === undefined) return text(`No tool of the name ${named} was declared.`);
  return { kind: 'call', tool, input: input ?? defaultInput(tool), namespace: namespaced ? tool.namespace : undefined };
}

function defaultInput(tool: DeclaredTool): string {
  return tool.kind === 'custom' ? 'rehearsal input' : JSON.stringify(exampleOf(tool.parameters ?? { type: 'object' }));
}

/** A call that `tool_choice` demands. Once a tool has answered, a provider would let the model speak. */
function chosenCall({ body, tools, toolOutput }: Prompt): readonly Part[] {
  if (toolOutput !== undefined) return [];
  const choice = body.tool_choice;
  const tool = choice === 'required' ? tools[0] : isObject(choice) ? tools.find(({ name }) => name === choice.name) : undefined;
  return tool === undefined ? [] : [{ kind: 'call', tool, input: defaultInput(tool), namespace: tool.namespace }];
}

function oneCallAtATime(parts: readonly Part[], { body }: Prompt): readonly Part[] {
  if (body.tool_choice === 'none') {
    return parts.map((part) => (part.kind === 'call' ? text(`The tool ${part.tool.name} may not be called.`) : part));
  }
  if (body.parallel_tool_calls !== false) return parts;
  const first = parts.findIndex(({ kind }) => kind === 'call');
  return parts.filter((part, i) => part.kind !== 'call' || i === first);
}

function answerText({ body, said, toolOutput }: Prompt, name: string): string {
  const format: Json | undefined = isObject(body.text) ? body.text.format : undefined;
  if (isObject(format) && format.type === 'json_schema') return JSON.stringify(exampleOf(format.schema));
  if (isObject(format) && format.type === 'json_object') return '{"rehearsal":true}';
  const heard = (words: string): string => (words.length > longestEcho ? `${words.slice(0, longestEcho)}…` : words);
  const intro = `This is the rehearsal provider answering as ${name}.`;
  if (toolOutput !== undefined) return `${intro} The tool answered: ${heard(toolOutput)}`;
  return said === '' ? `${intro} You said nothing.` : `${intro} You said: ${heard(said)}`;
}

function wordsOf(count: number): string {
  return Array.from({ length: count }, (_, i) => vocabulary[i % vocabulary.length]).join(' ');
}

/** Applies `max_output_tokens` to the text: what does not fit is left out, and the turn is incomplete. */
function cutToSize(parts: readonly Part[], { body }: Prompt, stopsShort: boolean): Plan {
  const tokens = body.max_output_tokens;
  let room = typeof tokens === 'number' ? tokens * charactersPerToken : Number.POSITIVE_INFINITY;
  let cut = stopsShort;
  const fitting = parts.map((part) => {
    if (part.kind !== 'text') return part;
    const kept = part.text.slice(0, room);
    cut ||= kept.length < part.text.length;
    room -= kept.length;
    return text(kept);
  });
  return { parts: fitting, stopsShort: cut };
}

/** Whether the request asks for the ciphertext of reasoning. */
export function wantsCiphertext(include: Json | undefined): boolean {
  return listOf(include).some((entry) => textOf(entry) === 'reasoning.encrypted_content');
}
