// Makes the entry of an API account's model in the lists of native clients, which expect models of agent backends (AA11).
import { isAbsent, type JsonObject } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';
import type { Source } from '../catalog/cohort.ts';

/** What a made entry takes from other sources. */
export interface Lent {
  /** The entry of an agent account that lends its instructions; undefined in a Pool without one. */
  readonly lender: JsonObject | undefined;
  /** Members that the operator declares for the entry. */
  readonly native: JsonObject;
  /** A number above the priority of every read entry, so that made entries come last. */
  readonly priority: number;
}

/** The window of a model for which neither the operator nor the account states one. */
export const UNKNOWN_WINDOW = 128_000;

/** The members of an agent model's entry that another model takes over: its instructions, its truncation and its tools. */
const LENT = ['base_instructions', 'model_messages', 'truncation_policy', 'experimental_supported_tools'] as const;

const NEUTRAL: JsonObject = Object.freeze({
  base_instructions:
    'You are a software engineering agent. Work on the task with the tools that you are given. Read before you change. Say what you did, and what you could not do.',
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  experimental_supported_tools: [],
});

/** @param id the exposed id */
function nativeEntry(id: string, model: AccountModel, { lender, native, priority }: Lent): JsonObject {
  const lent = LENT.filter((name) => !isAbsent(lender?.[name])).map((name) => [name, lender?.[name]]);
  return Object.freeze({
    ...NEUTRAL,
    ...(isAbsent(lender?.model_messages) ? {} : { base_instructions: null }),
    ...Object.fromEntries(lent),
    slug: id,
    display_name: id,
    context_window: model.contextWindow ?? UNKNOWN_WINDOW,
    supported_reasoning_levels: (model.reasoningLevels ?? []).map((effort) => ({ effort, description: effort })),
    ...(model.defaultLevel === undefined ? {} : { default_reasoning_level: model.defaultLevel }),
    // Native clients know only these two words, and drop the whole list if there is another one.
    input_modalities: model.modalities.filter((modality) => modality === 'text' || modality === 'image'),
    visibility: 'list',
    supported_in_api: true,
    shell_type: 'shell_command',
    priority,
    support_verbosity: false,
    use_responses_lite: false,
    apply_patch_tool_type: model.tools ? 'freeform' : null,
    ...native,
  });
}

type Sources = [Source, ...Source[]];

/**
 * Makes the entries of a Pool's API models, which take instructions from its agent models.
 * @param sources by exposed id, in configuration order; API sources are replaced in place by sources with a made entry
 */
export function makeEntries(sources: ReadonlyMap<string, Sources>): void {
  const models = [...sources].filter(([, of]) => of.some(({ entry }) => entry.own?.kind === 'turns'));
  if (models.length === 0) return;
  const agents = [...sources.values()].map(agentEntry).filter((entry) => entry !== undefined);
  let priority = Math.max(0, ...agents.map(({ priority: own }) => (typeof own === 'number' ? own : 0)));
  for (const [id, of] of models) {
    priority += 1;
    for (const [index, source] of of.entries()) {
      const { own, declared } = source.entry;
      if (own?.kind !== 'turns') continue;
      const liked = declared?.like === undefined ? undefined : sources.get(declared.like);
      const lender = (liked && agentEntry(liked)) ?? agentEntry(of) ?? agents[0];
      const fields = nativeEntry(id, own, { lender, native: declared?.native ?? {}, priority });
      of[index] = { ...source, entry: { ...source.entry, fields } };
    }
  }
}

/** The first entry of an agent account. */
const agentEntry = (sources: readonly Source[]): JsonObject | undefined => sources.find(({ entry }) => !entry.own)?.entry.fields;
