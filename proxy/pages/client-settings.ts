// The settings with which popular clients use this gateway, one entry per client, for `poolgate client` and the documentation.

export interface ClientSettings {
  /** The name of the client for `poolgate client`. */
  readonly name: string;
  readonly title: string;
  /** The API of the gateway that these settings use. */
  readonly api: 'native' | 'Responses' | 'Messages';
  /** The place for the text: a file, code, or a shell. */
  readonly where: string;
  /** The language of the text, as in Markdown. */
  readonly language: 'js' | 'json' | 'sh' | 'toml' | 'yaml';
  /** The npm package and version with which the text was tested unchanged. */
  readonly tried: string;
  /** What config.yaml has to have for it. `init` writes that itself. */
  readonly needs?: string;
  /** What its user can act on. */
  readonly note?: string;
  /** What else was found. Only the documentation has it. */
  readonly details?: string;
  readonly text: (address: ClientAddress) => string;
}

export interface ClientAddress {
  /** The origin of the gateway, such as `http://127.0.0.1:4000`. */
  readonly origin: string;
  /** The word of `wire` in native paths. */
  readonly agent: string;
  /** Exposed model id. */
  readonly model: string;
}

/** The environment variable with the secret of the Pool API key in all texts. The gateway itself has only a hash of the secret. */
export const KEY_VARIABLE = 'POOLGATE_KEY';

export const CLIENTS: readonly ClientSettings[] = [
  {
    name: 'codex',
    title: 'Codex CLI',
    api: 'native',
    where: '~/.codex/config.toml',
    language: 'toml',
    tried: '@openai/codex 0.169.0',
    needs: 'Set `wire: { agent: codex, meter: wham, lite_marker: x-openai-internal-codex-responses-lite }` in config.yaml.',
    note:
      'Only with `model_catalog_url` it reads models, reasoning levels and context windows from the gateway; `poolgate doctor` reports a list ' +
      'that is too large for it.',
    details:
      'Tried with 0.156.0, 0.160.0, 0.161.0, 0.162.1, 0.163.0, 0.166.0 and 0.169.0: turns, a tool loop, interrupt, steer, compaction; resume was ' +
      'not tried with 0.161.0 and 0.162.1. Without the list it uses fallback metadata. It waits 5 s for the list and asks three times, so that a slow list ' +
      'delays its start; 0.163 refuses a list of more than 1 MiB. It sends no request for models to `base_url`. `wire_api = "responses"` is also ' +
      'its default. With `supports_websockets` it keeps one websocket for a session, and comes back for its turn when the websocket was lost; it ' +
      'continues over HTTP where the gateway answers 426.',
    text: ({ origin, agent, model }) => `model = "${model}"
model_provider = "poolgate"

[model_providers.poolgate]
name = "poolgate"
base_url = "${origin}/backend-api/${agent}"
env_key = "${KEY_VARIABLE}"
wire_api = "responses"
supports_websockets = true
model_catalog_url = "${origin}/backend-api/${agent}/models"

[features]
api_key_model_discovery = true # versions before 0.161 read model_catalog_url only with this`,
  },
  {
    name: 'claude-code',
    title: 'Claude Code',
    api: 'Messages',
    where: 'shell',
    language: 'sh',
    tried: '@anthropic-ai/claude-code 2.1.330',
    note:
      'The address has no `/v1`. Unset `ANTHROPIC_API_KEY`. `ANTHROPIC_DEFAULT_HAIKU_MODEL` is the model of its background calls; `_SONNET_`, `_OPUS_` ' +
      'and `_FABLE_` are those that `/model` offers. In place of these variables the Pool can have `aliases: { claude-*: model-a }`. ' +
      '`CLAUDE_CODE_MAX_CONTEXT_TOKENS` is the context length of the model in `GET /v1/models`: without it the client assumes one. ' +
      '`CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY=1` adds listed ids and aliases that begin with `claude` to `/model`; ' +
      '`CLAUDE_CODE_MAX_OUTPUT_TOKENS` suits a key with an output policy.',
    text: ({ origin, model }) => `export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN="$${KEY_VARIABLE}"
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_DEFAULT_HAIKU_MODEL=${model}
export CLAUDE_CODE_MAX_CONTEXT_TOKENS=258400
claude -p "Say hello."`,
  },
  {
    name: 'anthropic',
    title: 'Anthropic SDK',
    api: 'Messages',
    where: 'code',
    language: 'js',
    tried: '@anthropic-ai/sdk 1.12.0',
    note: 'The address has no `/v1`.',
    text: ({ origin }) => `const client = new Anthropic({ baseURL: '${origin}', apiKey: process.env.${KEY_VARIABLE} });`,
  },
  {
    name: 'ai-sdk-anthropic',
    title: 'Vercel AI SDK (Anthropic)',
    api: 'Messages',
    where: 'code',
    language: 'js',
    tried: '@ai-sdk/anthropic 4.0.105 with ai 7.0.173',
    note: 'Version 3 (3.0.140 with ai 6) works too.',
    text: ({ origin, model }) => `const poolgate = createAnthropic({ baseURL: '${origin}/v1', apiKey: process.env.${KEY_VARIABLE} });
const { text } = await generateText({ model: poolgate('${model}'), prompt: 'Say hello.' });`,
  },
  {
    name: 'langchain-anthropic',
    title: 'LangChain (Anthropic)',
    api: 'Messages',
    where: 'code',
    language: 'js',
    tried: '@langchain/anthropic 1.5.11',
    note: 'The address has no `/v1`.',
    text: ({ origin, model }) => `const model = new ChatAnthropic({
  model: '${model}',
  apiKey: process.env.${KEY_VARIABLE},
  anthropicApiUrl: '${origin}',
});`,
  },
  {
    name: 'openai',
    title: 'OpenAI SDK',
    api: 'Responses',
    where: 'code',
    language: 'js',
    tried: 'openai 7.55.0',
    note: 'Or set `OPENAI_BASE_URL` and `OPENAI_API_KEY`, which this SDK, the Vercel AI SDK and LangChain read.',
    text: ({ origin }) => `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: process.env.${KEY_VARIABLE} });`,
  },
  {
    name: 'ai-sdk',
    title: 'Vercel AI SDK',
    api: 'Responses',
    where: 'code',
    language: 'js',
    tried: '@ai-sdk/openai 4.0.118 with ai 7.0.173',
    note: 'Tool loops work with the default settings. A conversation that continues after an answer needs `providerOptions: { openai: { store: false } }`: by default the SDK refers to stored messages, and this gateway stores none. `poolgate.chat(…)` uses Chat Completions instead.',
    text: ({ origin, model }) => `const poolgate = createOpenAI({ baseURL: '${origin}/v1', apiKey: process.env.${KEY_VARIABLE} });
const { text } = await generateText({ model: poolgate('${model}'), prompt: 'Say hello.' });`,
  },
  {
    name: 'langchain',
    title: 'LangChain',
    api: 'Responses',
    where: 'code',
    language: 'js',
    tried: '@langchain/openai 1.6.0',
    note: 'Without `useResponsesApi` it uses Chat Completions instead.',
    text: ({ origin, model }) => `const model = new ChatOpenAI({
  model: '${model}',
  apiKey: process.env.${KEY_VARIABLE},
  useResponsesApi: true,
  configuration: { baseURL: '${origin}/v1' },
});`,
  },
  {
    name: 'opencode',
    title: 'opencode',
    api: 'Responses',
    where: 'opencode.json',
    language: 'json',
    tried: 'opencode-ai 1.18.33',
    note: 'With `@ai-sdk/anthropic` instead of `@ai-sdk/openai` it uses Messages; turns and a tool loop were tried.',
    text: ({ origin, model }) => `{
  "$schema": "https://opencode.ai/config.json",
  "model": "poolgate/${model}",
  "provider": {
    "poolgate": {
      "npm": "@ai-sdk/openai",
      "name": "poolgate",
      "options": { "baseURL": "${origin}/v1", "apiKey": "{env:${KEY_VARIABLE}}" },
      "models": { "${model}": {} }
    }
  }
}`,
  },
  {
    name: 'cline',
    title: 'Cline CLI',
    api: 'Responses',
    where: 'shell',
    language: 'sh',
    tried: 'cline 3.0.65',
    note: 'Its provider `openai` uses Chat Completions instead. Its provider `anthropic` uses Messages, with `baseUrl` (the address with `/v1`) next to `apiKey` in `~/.cline/data/settings/providers.json`: `cline auth` takes no address for it.',
    text: ({ origin, model }) => `cline auth -p openai-native -k "$${KEY_VARIABLE}" -b ${origin}/v1 -m ${model}
cline -P openai-native -m ${model} "Say hello."`,
  },
  {
    name: 'continue',
    title: 'Continue',
    api: 'Responses',
    where: '~/.continue/config.yaml',
    language: 'yaml',
    tried: '@continuedev/cli 1.5.47',
    note:
      'It uses Responses only for model ids that begin with `gpt-5`, or with `o` and a digit; for others it uses Chat Completions. `models` ' +
      'of an account can expose a model under such an id.',
    text: ({ origin, model }) => `name: poolgate
version: 1.0.0
schema: v1
models:
  - name: ${model}
    provider: openai
    model: ${model}
    apiBase: ${origin}/v1
    apiKey: \${{ secrets.${KEY_VARIABLE} }}`,
  },
  {
    name: 'copilot',
    title: 'Copilot CLI (own key)',
    api: 'Responses',
    where: 'shell',
    language: 'sh',
    tried: '@github/copilot 1.0.102',
    text: ({ origin, model }) => `export COPILOT_PROVIDER_BASE_URL=${origin}/v1
export COPILOT_PROVIDER_API_KEY="$${KEY_VARIABLE}"
export COPILOT_PROVIDER_WIRE_API=responses
export COPILOT_MODEL=${model}
copilot -p "Say hello."`,
  },
  {
    name: 'qwen',
    title: 'Qwen Code',
    api: 'Responses',
    where: 'shell',
    language: 'sh',
    tried: '@qwen-code/qwen-code 0.24.4',
    note: 'Its auth type `openai` uses Chat Completions instead.',
    text: ({ origin, model }) => `export OPENAI_BASE_URL=${origin}/v1
export OPENAI_API_KEY="$${KEY_VARIABLE}"
export OPENAI_MODEL=${model}
qwen --auth-type openai-responses -p "Say hello."`,
  },
];
