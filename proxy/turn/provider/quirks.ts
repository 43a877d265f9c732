// THE TABLE of quirks: how the servers of API accounts differ, as data. Names of providers occur in presets alone (AA14).

/** The optional members of a request that an account is sent if `keep` has them. */
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
  /** The APIs whose accounts it changes anything for. */
  readonly apis: readonly QuirkApi[];
  /** An account without a preset has the first one. */
  readonly values: readonly (string | boolean)[];
}

const CHAT = ['chat'] as const;
const RESPONSES = ['responses'] as const;
const BOTH = ['chat', 'responses'] as const;

/** Each quirk with the APIs that have it, and its values. */
export const QUIRKS = {
  /** The Chat name of the output cap. */
  max_tokens: { apis: CHAT, values: ['max_completion_tokens', 'max_tokens', 'none'] },
  /** False: developer messages go out as `system`. */
  developer_role: { apis: CHAT, values: [true, false] },
  /** System messages after the first other message: as they are, as user messages, or joined into the first one. */
  late_system: { apis: CHAT, values: ['system', 'user', 'merge'] },
  /** `string`: the text parts of a message are joined with a blank line. */
  content: { apis: CHAT, values: ['parts', 'string'] },
  /** `data`: data URLs only. */
  images: { apis: BOTH, values: ['any', 'data', 'none'] },
  files: { apis: BOTH, values: ['none', 'data'] },
  audio: { apis: BOTH, values: ['none', 'data'] },
  /** `user`: images of a tool output move to a user message behind the results. */
  tool_result_images: { apis: CHAT, values: ['user', 'tool'] },
  /** `function`: other tools are lowered, as Chat accounts lower them in any case (AA27). */
  tools: { apis: RESPONSES, values: ['function', 'all'] },
  /** `required`: an empty description becomes the tool's name. */
  tool_description: { apis: BOTH, values: ['optional', 'required'] },
  /** False: the member is left out; so for the three after it. */
  strict: { apis: BOTH, values: [true, false] },
  parallel_tool_calls: { apis: BOTH, values: [true, false] },
  stream_options: { apis: BOTH, values: [true, false] },
  reasoning_summary: { apis: RESPONSES, values: [true, false] },
  /** False: an account is no candidate for a turn with a required or named tool. */
  tool_choice_required: { apis: BOTH, values: [true, false] },
  /** False: a named tool goes out alone, with `required`. */
  tool_choice_named: { apis: BOTH, values: [true, false] },
  /** `plain`: without `strict`. `json_object`: the schema goes into the system text. `refuse`: the account is no candidate. */
  json_schema: { apis: BOTH, values: ['strict', 'plain', 'json_object', 'refuse'] },
  /** The member that has the effort, which Responses accounts get in `reasoning` in any case; `none`: it is left out. */
  effort: { apis: BOTH, values: ['reasoning_effort', 'reasoning', 'thinking', 'none'] },
  /** The name under which reasoning is sent back. All of them are read. */
  reasoning_field: { apis: CHAT, values: ['reasoning_content', 'reasoning', 'thinking'] },
  /** When reasoning is sent back (AA44). */
  reasoning_replay: { apis: CHAT, values: ['none', 'tool_loop', 'always'] },
  /** Whether the member `reasoning_details` of replies is sent back unchanged. */
  reasoning_details: { apis: CHAT, values: [false, true] },
  /** Whether a leading `<think>…</think>` of the text is reasoning. */
  think_tags: { apis: CHAT, values: [false, true] },
  /** `alnum9`: call ids go out as digests of nine letters and digits. */
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
  /** Whether the stated output leaves reasoning out: the output is then the total less the prompt. */
  usage_excludes_reasoning: { apis: CHAT, values: [false, true] },
  /** Whether `usage.cost` is the cost of the turn in USD. */
  cost_in_usage: { apis: BOTH, values: [false, true] },
} as const satisfies Record<string, Quirk>;

export type QuirkName = keyof typeof QUIRKS | 'effort_values' | 'keep';

export type Quirks = { readonly [Name in keyof typeof QUIRKS]: (typeof QUIRKS)[Name]['values'][number] } & {
  /** Level of effort to the account's word for it; `off` disables thinking. */
  readonly effort_values: Readonly<Record<string, string>>;
  readonly keep: readonly KeptMember[];
};

/** The quirks of an account without a preset. */
export const NO_QUIRKS = {
  ...(Object.fromEntries(Object.entries(QUIRKS).map(([name, { values }]) => [name, values[0]])) as Omit<Quirks, 'effort_values' | 'keep'>),
  effort_values: {},
  keep: ['temperature', 'top_p'],
} satisfies Quirks;
