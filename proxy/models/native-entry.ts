// What native clients need in an entry: they drop the whole catalog, without a word, over one that lacks it (Q13).
import type { Json, JsonObject } from '../turn/json.ts';
import { isObject } from '../turn/json.ts';

type Check = (value: Json | undefined) => boolean;

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const integer: Check = (value) => Number.isInteger(value);
const texts: Check = (value) => Array.isArray(value) && value.every(text);
const absent: Check = (value) => value === undefined || value === null;
const optional =
  (check: Check): Check =>
  (value) =>
    absent(value) || check(value);

/** Enum-like strings are not compared: tomorrow's clients know more words than today's gateway. */
const CHECKS: Readonly<Record<string, Check>> = {
  display_name: text,
  shell_type: text,
  visibility: text,
  supported_in_api: flag,
  priority: integer,
  support_verbosity: flag,
  truncation_policy: (value) => isObject(value) && text(value.mode) && integer(value.limit),
  experimental_supported_tools: texts,
  // Not required, but fatal where they are of another type.
  supported_reasoning_levels: optional(
    (value) => Array.isArray(value) && value.every((level) => isObject(level) && text(level.effort) && text(level.description)),
  ),
  default_reasoning_level: optional(text),
  description: optional(text),
  comp_hash: optional(text),
  effective_context_window_percent: optional(integer),
  supports_reasoning_summaries: optional(flag),
  supports_parallel_tool_calls: optional(flag),
  default_verbosity: optional(text),
  apply_patch_tool_type: optional(text),
  input_modalities: optional(texts),
};

/** Whether an entry may stand in the backend list. One that may not, such as a bare id, keeps its place in `/v1/models`. */
export function servesNativeClients(entry: JsonObject): boolean {
  return Object.entries(CHECKS).every(([name, check]) => check(entry[name])) && hasInstructions(entry);
}

const hasInstructions = (entry: JsonObject): boolean =>
  absent(entry.base_instructions)
    ? isObject(entry.model_messages) && text(entry.model_messages.instructions_template)
    : text(entry.base_instructions);
