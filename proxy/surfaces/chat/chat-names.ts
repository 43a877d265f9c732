// The names that a Chat client has for members of a Responses request (Q24).
import type { MemberNames } from '../../turn/surface.ts';

/** The part of a Chat request from which an input item was made. */
export interface Origin {
  readonly from: 'message' | 'call' | 'custom call' | 'result';
  /** For example `messages.2` or `messages.2.tool_calls.0`. */
  readonly path: string;
  /** The number of parts in a message's `content`; undefined if the content is a text. */
  readonly parts?: number;
}

/**
 * Members of the Responses request with the members of Chat from which they were made. The last match counts, because it is the longest.
 */
const NAMES: readonly (readonly [responses: string, chat: string | null])[] = [
  ['input', 'messages'],
  // Made from the texts of several messages.
  ['instructions', 'messages'],
  ['reasoning', 'reasoning_effort'],
  ['text', 'response_format'],
  ['text.verbosity', 'verbosity'],
  ['text.format.type', 'response_format.type'],
  ['text.format.name', 'response_format.json_schema.name'],
  ['text.format.description', 'response_format.json_schema.description'],
  ['text.format.schema', 'response_format.json_schema.schema'],
  ['text.format.strict', 'response_format.json_schema.strict'],
  ['tool_choice', 'tool_choice'],
  // Added by the translation.
  ['include', null],
];

/** Members of a tool that only one kind of tool has, with the object that contains them in Chat. */
const TOOL_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['parameters', 'function.parameters'],
  ['strict', 'function.strict'],
  ['format', 'custom.format'],
]);

/** Members of a tool that have the same place in both APIs. */
const TOOL_OWN: ReadonlySet<string> = new Set(['type']);

/** Members of a content part, with the object that contains them in Chat. */
const PART_MEMBERS: ReadonlyMap<string, string> = new Map([
  ['image_url', 'image_url.url'],
  ['detail', 'image_url.detail'],
  ['file_id', 'file.file_id'],
  ['file_data', 'file.file_data'],
  ['filename', 'file.filename'],
]);

const CALL_MEMBERS = {
  call: new Map([
    ['call_id', 'id'],
    ['name', 'function.name'],
    ['arguments', 'function.arguments'],
  ]),
  'custom call': new Map([
    ['call_id', 'id'],
    ['name', 'custom.name'],
    ['input', 'custom.input'],
  ]),
} as const;

const TOOL = /^(tools(?:\[\d+\]|\.\d+))(?:\.([a-z_]+))?/;

export class ChatNames implements MemberNames {
  readonly #origins: readonly Origin[];
  readonly #cap: string;

  /** @param origins the origins of the input items @param cap the member that states the cap of output tokens */
  constructor(origins: readonly Origin[], cap: string) {
    this.#origins = origins;
    this.#cap = cap;
  }

  nameOf(param: string): string | null {
    const [, tool, member = ''] = TOOL.exec(param) ?? [];
    if (tool !== undefined) {
      const own = TOOL_OWN.has(member) ? member : TOOL_MEMBERS.get(member);
      return own === undefined ? tool : `${tool}.${own}`;
    }
    const [first, index, ...below] = segmentsOf(param);
    if (first === 'max_output_tokens') return this.#cap;
    const origin = first === 'input' ? this.#origins[Number(index)] : undefined;
    if (origin) return nameIn(origin, below);
    const isIn = (name: string): boolean => param.startsWith(name) && !/^\w/.test(param.slice(name.length));
    const name = NAMES.findLast(([responses]) => isIn(responses));
    return name ? name[1] : param;
  }
}

function nameIn({ from, path, parts }: Origin, [member, part, ...below]: readonly string[]): string {
  if (member === undefined) return path;
  if (from === 'call' || from === 'custom call') {
    const own = CALL_MEMBERS[from].get(member);
    return own === undefined ? path : `${path}.${own}`;
  }
  if (from === 'result') {
    if (member === 'call_id') return `${path}.tool_call_id`;
    return member === 'output' ? [path, 'content', ...(part === undefined ? [] : [part, ...below])].join('.') : path;
  }
  if (member !== 'content') return member === 'role' ? `${path}.role` : path;
  if (part === undefined || parts === undefined) return `${path}.content`;
  // The refusal of an assistant's message was placed after the parts of its content.
  if (Number(part) >= parts) return `${path}.refusal`;
  const [own, ...rest] = below;
  return [path, 'content', part, ...(own === undefined ? [] : [PART_MEMBERS.get(own) ?? own, ...rest])].join('.');
}

/** The path of a member in an error, in either spelling: `tools.0.name` or `tools[0].name`. */
function segmentsOf(param: string): readonly string[] {
  return param.replace(/\[(\d+)\]/g, '.$1').split('.');
}
