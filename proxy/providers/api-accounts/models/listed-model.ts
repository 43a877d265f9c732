// Reads one model of a server's list. The window, the modalities and the tools are found under the names that many servers use (AA9).
import { isObject, type Json, type JsonObject } from '../../../turn/json/json.ts';
import { MODALITIES, type Modality } from '../../../turn/provider/served.ts';

/** What is known of a listed model, in names of the gateway. A member that the list does not state is absent. */
export interface ListedModel {
  readonly id: string;
  readonly context_window?: number;
  readonly max_output?: number;
  readonly input_modalities?: readonly Modality[];
  readonly tools?: boolean;
  readonly kind?: 'embedding';
}

/**
 * The names of the context window. The first one with a number counts. `n_ctx_train` is not among them, because it is the size of the
 * training.
 */
const WINDOWS = ['context_length', 'context_window', 'max_model_len', 'max_context_length'] as const;
const OUTPUTS = ['max_completion_tokens', 'max_output_tokens'] as const;

/** The model; undefined if it takes no turns or has no id. @param item an item of a server's list */
export function listedModel(item: unknown): ListedModel | undefined {
  const entry: JsonObject = typeof item === 'string' ? { id: item } : isObject(item) ? item : {};
  const id = entry.id ?? entry.name;
  if (typeof id !== 'string' || isLeftOut(entry)) return undefined;
  return defined<ListedModel>({
    id,
    context_window: windowOf(entry),
    max_output: outputOf(entry),
    input_modalities: modalitiesOf(entry),
    tools: toolsOf(entry),
    kind: entry.type === 'embeddings' ? 'embedding' : undefined,
  });
}

/** A number of tokens: an integer above 0. Any other value counts as absent. */
export const tokenCountIn = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value > 0 && value <= MAX_TOKENS ? value : undefined;

const MAX_TOKENS = 1_000_000_000;

const defined = <T extends object>(members: { readonly [Name in keyof T]: T[Name] | undefined }): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

const member = (value: Json | undefined, name: string): Json | undefined => (isObject(value) ? value[name] : undefined);

const texts = (value: Json | undefined): readonly Json[] | undefined => (Array.isArray(value) ? value : undefined);

function isLeftOut({ active, architecture, capabilities }: JsonObject): boolean {
  const output = texts(member(architecture, 'output_modalities'));
  return active === false || member(capabilities, 'completion_chat') === false || (output !== undefined && !output.includes('text'));
}

function windowOf(entry: JsonObject): number | undefined {
  const names = [...WINDOWS.map((name) => entry[name]), member(entry.meta, 'n_ctx')];
  const stated = names.map(tokenCountIn).find((tokens) => tokens !== undefined);
  const provider = tokenCountIn(member(entry.top_provider, 'context_length'));
  return stated === undefined || provider === undefined ? (stated ?? provider) : Math.min(stated, provider);
}

function outputOf(entry: JsonObject): number | undefined {
  const stated = [...OUTPUTS.map((name) => entry[name]), member(entry.top_provider, 'max_completion_tokens')];
  return stated.map(tokenCountIn).find((tokens) => tokens !== undefined);
}

function modalitiesOf({ architecture, capabilities, type }: JsonObject): readonly Modality[] | undefined {
  const listed = texts(member(architecture, 'input_modalities'));
  if (listed) return MODALITIES.filter((modality) => listed.includes(modality));
  const vision = type === 'vlm' ? true : member(capabilities, 'vision');
  if (vision === true) return ['text', 'image'];
  return vision === false || type === 'llm' ? ['text'] : undefined;
}

function toolsOf({ capabilities, supported_parameters }: JsonObject): boolean | undefined {
  const parameters = texts(supported_parameters);
  if (parameters) return parameters.includes('tools');
  const words = texts(capabilities);
  if (words) return words.includes('tool_use');
  const calling = member(capabilities, 'function_calling');
  return typeof calling === 'boolean' ? calling : undefined;
}
