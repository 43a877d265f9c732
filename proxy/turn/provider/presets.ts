// THE TABLE of presets: what is known of the servers of API accounts. An account with a preset takes from here what its settings leave out
// (AA17).
import { KEEPABLE, type Quirks } from './quirks.ts';
import type { ApiCompaction, HostedTool, Served } from './served.ts';

export interface Preset {
  /** The default API first, then others that the server has. */
  readonly apis: readonly ('responses' | 'chat')[];
  /** Absent if every account has an address of its own. */
  readonly base_url?: string;
  /** The kind of credential that servers of this preset need. With `none` an account needs no credential. */
  readonly credential: 'bearer' | 'header' | 'none';
  readonly serves: readonly Served[];
  readonly hosted_tools: readonly HostedTool[];
  readonly websocket: boolean;
  readonly compact: ApiCompaction;
  /** Whether the models take images, if neither the account nor its list states their modalities (AA7). */
  readonly images: boolean;
  /** What is read from the server in addition to its list of models (AA9). */
  readonly reads?: 'lmstudio' | 'llamacpp';
  readonly quirks: Partial<Quirks>;
}

const usual = {
  apis: ['chat', 'responses'],
  credential: 'bearer',
  serves: ['turns', 'compact'],
  hosted_tools: [],
  websocket: false,
  compact: 'summary',
  images: false,
} as const satisfies Partial<Preset>;

const withEmbeddings = { ...usual, serves: ['turns', 'compact', 'embeddings'] } as const satisfies Partial<Preset>;

const openaiQuirks = {
  tools: 'all',
  keep: KEEPABLE.filter((member) => member !== 'user' && member !== 'truncation'),
} as const satisfies Partial<Quirks>;

export const PRESETS = {
  openai: {
    ...usual,
    apis: ['responses', 'chat'],
    base_url: 'https://api.openai.com/v1',
    serves: ['turns', 'compact', 'images', 'transcriptions', 'files', 'embeddings'],
    hosted_tools: ['web_search', 'image_generation'],
    websocket: true,
    compact: 'route',
    images: true,
    quirks: openaiQuirks,
  },
  azure: {
    ...withEmbeddings,
    apis: ['responses', 'chat'],
    credential: 'header',
    websocket: true,
    compact: 'route',
    images: true,
    quirks: { ...openaiQuirks, tool_description: 'required' },
  },
  xai: {
    ...usual,
    apis: ['responses', 'chat'],
    base_url: 'https://api.x.ai/v1',
    hosted_tools: ['web_search'],
    websocket: true,
    images: true,
    quirks: { keep: ['temperature', 'top_p', 'include', 'prompt_cache_key'] },
  },
  openrouter: {
    ...withEmbeddings,
    base_url: 'https://openrouter.ai/api/v1',
    quirks: {
      effort: 'reasoning',
      reasoning_field: 'reasoning',
      reasoning_details: true,
      reasoning_replay: 'tool_loop',
      cost_in_usage: true,
      item_ids: 'required',
    },
  },
  vllm: {
    ...withEmbeddings,
    credential: 'none',
    quirks: { developer_role: false, late_system: 'merge', reasoning_field: 'reasoning', item_ids: 'required' },
  },
  ollama: {
    ...withEmbeddings,
    base_url: 'http://127.0.0.1:11434/v1',
    credential: 'none',
    quirks: {
      max_tokens: 'max_tokens',
      developer_role: false,
      images: 'data',
      parallel_tool_calls: false,
      tool_choice_required: false,
      reasoning_field: 'reasoning',
    },
  },
  lmstudio: {
    ...withEmbeddings,
    base_url: 'http://127.0.0.1:1234/v1',
    credential: 'none',
    reads: 'lmstudio',
    quirks: {
      max_tokens: 'max_tokens',
      developer_role: false,
      late_system: 'merge',
      images: 'data',
      tool_choice_named: false,
      text_format: 'required',
    },
  },
  llamacpp: {
    ...withEmbeddings,
    base_url: 'http://127.0.0.1:8080/v1',
    credential: 'none',
    reads: 'llamacpp',
    quirks: {
      max_tokens: 'max_tokens',
      developer_role: false,
      late_system: 'merge',
      tool_choice_named: false,
      reasoning_replay: 'tool_loop',
    },
  },
  groq: {
    ...usual,
    base_url: 'https://api.groq.com/openai/v1',
    serves: ['turns', 'compact', 'transcriptions'],
    quirks: { developer_role: false, reasoning_field: 'reasoning', keep: ['temperature', 'top_p', 'service_tier'] },
  },
  mistral: {
    ...withEmbeddings,
    apis: ['chat'],
    base_url: 'https://api.mistral.ai/v1',
    quirks: {
      max_tokens: 'max_tokens',
      developer_role: false,
      late_system: 'merge',
      tool_ids: 'alnum9',
      tool_result_name: true,
      assistant_after_tool: true,
      stream_options: false,
      effort: 'none',
    },
  },
  deepseek: {
    ...usual,
    base_url: 'https://api.deepseek.com',
    quirks: {
      max_tokens: 'max_tokens',
      developer_role: false,
      images: 'none',
      json_schema: 'json_object',
      effort: 'thinking',
      effort_values: { none: 'off', minimal: 'low', medium: 'high', xhigh: 'high', ultra: 'max' },
      reasoning_replay: 'always',
      tool_choice_required: false,
    },
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

export const presetOf = (name: PresetName): Preset => PRESETS[name];
