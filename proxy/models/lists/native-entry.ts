// Makes the entry of an API account's model in the lists of native clients, which expect models of agent backends (AA11).
import type { JsonObject } from '../../turn/json/json.ts';
import { isAbsent } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';

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
export function nativeEntry(id: string, model: AccountModel, { lender, native, priority }: Lent): JsonObject {
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
