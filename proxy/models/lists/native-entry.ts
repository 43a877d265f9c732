// The entry of an API account's model in the lists of native clients, which know models of agent backends (AA11).
import type { JsonObject } from '../../turn/json/json.ts';
import { isAbsent } from '../../turn/json/json.ts';
import type { AccountModel } from '../../turn/provider/account-model.ts';

/** What a made entry takes from elsewhere. */
export interface Lent {
  /** The entry of an agent account that lends its instructions; undefined in a Pool without one. */
  readonly lender: JsonObject | undefined;
  /** Members that the operator gives it. */
  readonly native: JsonObject;
  /** Larger than that of every read entry: it comes after them. */
  readonly priority: number;
}

/** Of a model whose window neither the operator nor the account states. */
export const UNKNOWN_WINDOW = 128_000;

/** The members of an entry that lend a model its manners. */
const LENT = ['base_instructions', 'model_messages', 'truncation_policy', 'experimental_supported_tools'] as const;

const NEUTRAL: JsonObject = Object.freeze({
  base_instructions:
    'You are a software engineering agent. Work on the task with the tools that you are given. Read before you change. Say what you did, and what you could not do.',
  truncation_policy: { mode: 'tokens', limit: 10_000 },
  experimental_supported_tools: [],
});

/** @param id exposed */
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
    // Native clients know these two, and drop the whole list for another word.
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
