// THE TABLE of quirks: how the servers of API accounts differ, as data. Names of providers occur in presets alone (AA14).

/** The optional members of a request that an account is sent where `keep` has them. */
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

/** The values of each quirk; an account without a preset has the first one. */
export const QUIRKS = {
  /** The Chat name of the output cap. */
  max_tokens: ['max_completion_tokens', 'max_tokens', 'none'],
  /** False: developer messages go out as `system`. */
  developer_role: [true, false],
  /** System messages after the first other message: as they are, as user messages, or joined into the first one. */
  late_system: ['system', 'user', 'merge'],
  /** `string`: the text parts of a message are joined with a blank line. */
  content: ['parts', 'string'],
  /** `data`: data URLs only. */
  images: ['any', 'data', 'none'],
  files: ['none', 'data'],
  audio: ['none', 'data'],
  /** `user`: images of a tool output move to a user message behind the results. */
  tool_result_images: ['user', 'tool'],
  /** `function`: other tools are lowered. Chat accounts always lower them (AA27). */
  tools: ['function', 'all'],
  /** `required`: an empty description becomes the tool's name. */
  tool_description: ['optional', 'required'],
  /** False: the member is left out; so for the three after it. */
  strict: [true, false],
  parallel_tool_calls: [true, false],
  stream_options: [true, false],
  reasoning_summary: [true, false],
  /** False: an account is no candidate for a turn with a required or named tool. */
  tool_choice_required: [true, false],
  /** False: a named tool goes out alone, with `required`. */
  tool_choice_named: [true, false],
  /** `plain`: without `strict`. `json_object`: the schema goes into the system text. `refuse`: the account is no candidate. */
  json_schema: ['strict', 'plain', 'json_object', 'refuse'],
  /** The member that has the effort; `none`: it is left out. */
  effort: ['reasoning_effort', 'reasoning', 'thinking', 'none'],
  /** The name under which reasoning is sent back. All of them are read. */
  reasoning_field: ['reasoning_content', 'reasoning', 'thinking'],
  /** When reasoning is sent back (AA44). */
  reasoning_replay: ['none', 'tool_loop', 'always'],
  /** Whether the member `reasoning_details` of replies is sent back unchanged. */
  reasoning_details: [false, true],
  /** Whether a leading `<think>…</think>` of the text is reasoning. */
  think_tags: [false, true],
  /** `alnum9`: call ids go out as digests of nine letters and digits. */
  tool_ids: ['any', 'alnum9'],
  /** Whether tool messages have `name`. */
  tool_result_name: [false, true],
  /** Whether an assistant message is put between a tool result and a user message. */
  assistant_after_tool: [false, true],
  /** When a stream is requested; otherwise one JSON answer is requested, and made into events. */
  stream: ['always', 'without_tools', 'never'],
  /** `required`: assistant messages have `id` and `status`. */
  item_ids: ['omit', 'required'],
  /** `required`: `text.format` is always sent. */
  text_format: ['omit', 'required'],
  /** Whether the stated output leaves reasoning out: the output is then the total less the prompt. */
  usage_excludes_reasoning: [false, true],
  /** Whether `usage.cost` is the cost of the turn in USD. */
  cost_in_usage: [false, true],
} as const satisfies Record<string, readonly (string | boolean)[]>;

export type QuirkName = keyof typeof QUIRKS | 'effort_values' | 'keep';

export type Quirks = { readonly [Name in keyof typeof QUIRKS]: (typeof QUIRKS)[Name][number] } & {
  /** Level of effort to the account's word for it; `off` disables thinking. */
  readonly effort_values: Readonly<Record<string, string>>;
  readonly keep: readonly KeptMember[];
};

/** The quirks of an account without a preset. */
export const NO_QUIRKS = {
  ...(Object.fromEntries(Object.entries(QUIRKS).map(([name, [first]]) => [name, first])) as Omit<Quirks, 'effort_values' | 'keep'>),
  effort_values: {},
  keep: ['temperature', 'top_p'],
} satisfies Quirks;
