// The model lists of API accounts, in the form of each server (AA9).
import type { Json, JsonObject } from '../../turn/json/json.ts';
import type { PresetName } from '../../turn/provider/presets.ts';
import type { SampleCatalog } from '../model/sample-models.ts';
import { SimulatedError } from '../provider-error.ts';
import type { ApiSettings } from './api-settings.ts';

interface ListedModel {
  readonly id: string;
  readonly window: number;
  readonly isEmbedding: boolean;
}

/** The model that `/embeddings` serves. */
export const EMBEDDING_MODEL = 'model-embed';

/** The longest output in tokens, of servers whose lists state one. */
const MAX_OUTPUT = 32_000;

/** The servers whose lists state the longest output. Undefined: an account whose address names no server. */
const STATING: ReadonlySet<PresetName | undefined> = new Set([undefined, 'openrouter', 'groq']);

/** @throws SimulatedError if more output is requested than the list of the account states for its models */
export function refuseLongOutput(asked: Json | undefined, param: string, { list }: ApiSettings): void {
  if (typeof asked !== 'number' || asked <= MAX_OUTPUT || !STATING.has(list)) return;
  throw new SimulatedError(400, 'invalid_value', `'${param}' is too large: this model has at most ${MAX_OUTPUT} output tokens.`, param);
}

export function listedModels({ models }: SampleCatalog, { serves }: ApiSettings): readonly ListedModel[] {
  const turns = models.map(({ slug, context_window: window }) => ({ id: String(slug), window: Number(window), isEmbedding: false }));
  return serves.includes('embeddings') ? [...turns, { id: EMBEDDING_MODEL, window: 8_192, isEmbedding: true }] : turns;
}

/** The answer to `GET /models`. */
export function modelList(models: readonly ListedModel[], list: PresetName | undefined): JsonObject {
  const rows = models.map(
    (model): JsonObject => ({ id: model.id, object: 'model', created: 1_767_225_600, owned_by: 'rehearsal', ...membersOf(model, list) }),
  );
  return { object: 'list', data: rows };
}

/** What the server states of a model besides its id. An account whose address names no server states the window and the longest output. */
function membersOf({ id, window, isEmbedding }: ListedModel, list: PresetName | undefined): JsonObject {
  switch (list) {
    case 'openrouter':
      return {
        name: id,
        context_length: window,
        architecture: { input_modalities: ['text', 'image'], output_modalities: isEmbedding ? ['embeddings'] : ['text'] },
        top_provider: { context_length: Math.floor(window / 2), max_completion_tokens: MAX_OUTPUT, is_moderated: false },
        supported_parameters: isEmbedding ? [] : ['max_tokens', 'tools', 'tool_choice', 'reasoning', 'response_format'],
        pricing: { prompt: '0.000001', completion: '0.000004' },
      };
    case 'mistral':
      return {
        max_context_length: window,
        capabilities: { completion_chat: !isEmbedding, function_calling: !isEmbedding, vision: !isEmbedding },
      };
    case 'vllm':
      return { max_model_len: window, root: id, parent: null, permission: [] };
    case 'groq':
      return { active: true, context_window: window, max_completion_tokens: MAX_OUTPUT };
    case 'llamacpp':
      return { meta: { n_ctx_train: window * 2, n_params: 7_000_000_000, size: 4_000_000_000 } };
    case 'openai':
    case 'azure':
    case 'xai':
    case 'deepseek':
    case 'ollama':
    case 'lmstudio':
      return {};
    default:
      return { context_length: window, max_completion_tokens: MAX_OUTPUT };
  }
}

/** LM Studio's own list, at the root of the host. */
export const loadedModels = (models: readonly ListedModel[]): JsonObject => ({
  object: 'list',
  data: models.map(({ id, window, isEmbedding }) => ({
    id,
    object: 'model',
    type: isEmbedding ? 'embeddings' : 'vlm',
    publisher: 'rehearsal',
    arch: 'rehearsal',
    state: 'loaded',
    max_context_length: window * 2,
    loaded_context_length: window,
    capabilities: isEmbedding ? [] : ['tool_use'],
  })),
});

/** llama.cpp's properties of its single model, at the root of the host. */
export const serverProps = (models: readonly ListedModel[]): JsonObject => ({
  default_generation_settings: { id: 0, n_ctx: models[0]?.window ?? 0, params: {} },
  total_slots: 1,
  model_path: models[0]?.id ?? '',
});
