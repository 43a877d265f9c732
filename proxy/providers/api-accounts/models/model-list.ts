// Reads the models of an API account: its list, and what some servers state about them elsewhere (AA8, AA9).
import { readRefusal } from '../../../turn/errors/read-refusal.ts';
import { isObject, type Json } from '../../../turn/json/json.ts';
import { isApiAccount } from '../../../turn/provider/api-account.ts';
import { type Preset, presetOf } from '../../../turn/provider/presets.ts';
import type { OwnAnswer, OwnGet, ProviderCatalog } from '../../../turn/provider/reads.ts';
import { type ListedModel, listedModel, tokenCountIn } from './listed-model.ts';

/** The body of the answer has one `ListedModel` for each model that takes turns or makes embeddings. */
export const apiCatalog: ProviderCatalog = {
  async read(get, { account }) {
    const answer = await get('/models');
    const { status, body, bytes } = answer;
    if (status < 200 || status > 299) return { status, body, bytes, refusal: readRefusal(answer) };
    const list = listIn(body);
    if (!list) return { status, body: undefined, bytes };
    const preset = isApiAccount(account) && account.preset ? account.preset : undefined;
    const models = list.flatMap((item) => listedModel(item) ?? []);
    // Ollama does not list the size at which it silently cuts prompts.
    if (preset === 'ollama') return { status, body: models.map(({ context_window: _, ...model }) => model), bytes };
    return { status, body: await completed(models, { get, reads: preset && presetOf(preset).reads }), bytes };
  },
};

/** The list in the answer. If a server answers with two lists, `data` is the one of the API. */
function listIn(body: unknown): readonly Json[] | undefined {
  const list = isObject(body) ? (body.data ?? body.models) : body;
  return Array.isArray(list) ? list : undefined;
}

interface Further {
  readonly get: OwnGet;
  readonly reads: Preset['reads'];
}

function completed(models: readonly ListedModel[], { get, reads }: Further): Promise<readonly ListedModel[]> | readonly ListedModel[] {
  if (reads === 'lmstudio') return withLoadedModels(models, get);
  if (reads === 'llamacpp') return withSlotWindow(models, get);
  return models;
}

/** Adds what LM Studio's own list states: the window, the modalities and the tools of a model. The window of a loaded model is smaller. */
async function withLoadedModels(models: readonly ListedModel[], get: OwnGet): Promise<readonly ListedModel[]> {
  const list = listIn(await bodyOf(get, '/api/v0/models')) ?? [];
  const known = new Map(
    list.flatMap((item) => {
      const model = listedModel(item);
      const loaded = isObject(item) ? tokenCountIn(item.loaded_context_length) : undefined;
      return model ? [[model.id, loaded === undefined ? model : { ...model, context_window: loaded }]] : [];
    }),
  );
  return models.map((model) => ({ ...model, ...known.get(model.id) }));
}

/** Adds the window of a llama.cpp server. The server divides its window among its slots, and states the share of one. */
async function withSlotWindow(models: readonly ListedModel[], get: OwnGet): Promise<readonly ListedModel[]> {
  const props = await bodyOf(get, '/props');
  const settings = isObject(props) && isObject(props.default_generation_settings) ? props.default_generation_settings : {};
  const window = tokenCountIn(settings.n_ctx);
  return window === undefined ? models : models.map((model) => ({ ...model, context_window: window }));
}

/** The body of an answer. After a failure the window stays unknown. */
async function bodyOf(get: OwnGet, path: string): Promise<unknown> {
  const answer: OwnAnswer | undefined = await get(path, 'origin').catch(() => undefined);
  return answer !== undefined && answer.status >= 200 && answer.status < 300 ? answer.body : undefined;
}
