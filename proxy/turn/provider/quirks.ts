// THE TABLE of quirks: how the servers of API accounts differ, as data. Names of providers occur only in presets (AA14).

/** The optional members of a request that are sent only to an account whose `keep` has them. */
export const KEEPABLE = [
  'temperature',
  'top_p',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_retention',
  'service_tier',
  'verbosity',
  'include',
  'truncation',
] as const;

export type KeptMember = (typeof KEEPABLE)[number];

export type QuirkApi = 'chat' | 'responses';

export interface Quirk {
  /** The APIs for whose accounts the quirk has an effect. */
  readonly apis: readonly QuirkApi[];
  /** The possible values. The first one is the default of an account without a preset. */
  readonly values: readonly (string | boolean)[];
}

const CHAT = ['chat'] as const;
const RESPONSES = ['responses'] as const;
const BOTH = ['chat', 'responses'] as const;

/** The quirks, each with its APIs and its values. */
export const QUIRKS = {
  /** The name of the output cap in a Chat request. */
  max_tokens: { apis: CHAT, values: ['max_completion_tokens', 'max_tokens', 'none'] },
  /** False: developer messages are sent as `system`. */
  developer_role: { apis: CHAT, values: [true, false] },
  /** How system messages after the first other message are sent: unchanged, as user messages, or joined to the first system message. */
  late_system: { apis: CHAT, values: ['system', 'user', 'merge'] },
  /** `string`: the text parts of a message are joined with a blank line between them. */
  content: { apis: CHAT, values: ['parts', 'string'] },
  /** `data`: only data URLs are sent. */
  images: { apis: BOTH, values: ['any', 'data', 'none'] },
  files: { apis: BOTH, values: ['none', 'data'] },
  audio: { apis: BOTH, values: ['none', 'data'] },
  /** `user`: images of a tool output are sent in a user message after the tool results. */
  tool_result_images: { apis: CHAT, values: ['user', 'tool'] },
  /** `function`: other tools are replaced with function tools, as for every Chat account (AA27). */
  tools: { apis: RESPONSES, values: ['function', 'all'] },
  /** `required`: a tool without a description gets its name as the description. */
  tool_description: { apis: BOTH, values: ['optional', 'required'] },
  /** False: the member is left out. This also holds for the three members below it. */
  strict: { apis: BOTH, values: [true, false] },
  parallel_tool_calls: { apis: BOTH, values: [true, false] },
  stream_options: { apis: BOTH, values: [true, false] },
  reasoning_summary: { apis: RESPONSES, values: [true, false] },
  /** False: an account is no candidate for a turn with a required or named tool. */
  tool_choice_required: { apis: BOTH, values: [true, false] },
  /** False: if a tool is named, only this tool is sent, with `required`. */
  tool_choice_named: { apis: BOTH, values: [true, false] },
  /** `plain`: `strict` is left out. `json_object`: the schema is written into the system text. `refuse`: the account is no candidate. */
  json_schema: { apis: BOTH, values: ['strict', 'plain', 'json_object', 'refuse'] },
  /** The member that states the effort. Responses accounts always get it in `reasoning`. `none`: it is left out. */
  effort: { apis: BOTH, values: ['reasoning_effort', 'reasoning', 'thinking', 'none'] },
  /** The member in which reasoning is sent back. Replies may have it in any of the members. */
  reasoning_field: { apis: CHAT, values: ['reasoning_content', 'reasoning', 'thinking'] },
  /** When reasoning is sent back (AA44). */
  reasoning_replay: { apis: CHAT, values: ['none', 'tool_loop', 'always'] },
  /** Whether the member `reasoning_details` of replies is sent back unchanged. */
  reasoning_details: { apis: CHAT, values: [false, true] },
  /** Whether a leading `<think>…</think>` of the text is reasoning. */
  think_tags: { apis: CHAT, values: [false, true] },
  /** `alnum9`: call ids are sent as digests of nine letters and digits. */
  tool_ids: { apis: CHAT, values: ['any', 'alnum9'] },
  /** Whether tool messages have `name`. */
  tool_result_name: { apis: CHAT, values: [false, true] },
  /** Whether an assistant message is put between a tool result and a user message. */
  assistant_after_tool: { apis: CHAT, values: [false, true] },
  /** When a stream is requested; otherwise one JSON answer is requested, and made into events. */
  stream: { apis: BOTH, values: ['always', 'without_tools', 'never'] },
  /** `required`: assistant messages have `id` and `status`. */
  item_ids: { apis: RESPONSES, values: ['omit', 'required'] },
  /** `required`: `text.format` is always sent. */
  text_format: { apis: RESPONSES, values: ['omit', 'required'] },
  /** Whether the stated output tokens leave reasoning out. The output is then the total less the prompt. */
  usage_excludes_reasoning: { apis: CHAT, values: [false, true] },
  /** Whether `usage.cost` is the cost of the turn in USD. */
  cost_in_usage: { apis: BOTH, values: [false, true] },
} as const satisfies Record<string, Quirk>;

export type Quirks = { readonly [Name in keyof typeof QUIRKS]: (typeof QUIRKS)[Name]['values'][number] } & {
  /** The account's word for each level of effort; `off` disables thinking. */
  readonly effort_values: Readonly<Record<string, string>>;
  readonly keep: readonly KeptMember[];
};

/** The quirks of an account without a preset. */
export const NO_QUIRKS = {
  ...(Object.fromEntries(Object.entries(QUIRKS).map(([name, { values }]) => [name, values[0]])) as Omit<Quirks, 'effort_values' | 'keep'>),
  effort_values: {},
  keep: ['temperature', 'top_p'],
} satisfies Quirks;
