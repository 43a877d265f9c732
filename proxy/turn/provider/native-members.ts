// The members of an entry in native lists, with their types. Native clients drop the whole list if a member has another type (Q13).
import { isAbsent, isObject, type Json } from '../json/json.ts';

interface Member {
  /** The type in words for operators, after `must be`. */
  readonly type: string;
  readonly check: (value: Json | undefined) => boolean;
}

const text: Member = { type: 'text', check: (value) => typeof value === 'string' };
const flag: Member = { type: 'true or false', check: (value) => typeof value === 'boolean' };
const integer: Member = { type: 'a whole number', check: (value) => Number.isInteger(value) };
const texts: Member = { type: 'a list of texts', check: (value) => Array.isArray(value) && value.every(text.check) };
const levels: Member = {
  type: 'a list of { effort, description }',
  check: (value) =>
    Array.isArray(value) && value.every((level) => isObject(level) && text.check(level.effort) && text.check(level.description)),
};
const policy: Member = {
  type: '{ mode, limit }',
  check: (value) => isObject(value) && text.check(value.mode) && integer.check(value.limit),
};

const optional = ({ type, check }: Member): Member => ({ type, check: (value) => isAbsent(value) || check(value) });

/** Enumerations are not compared: future clients may accept more values. */
export const NATIVE_MEMBERS: Readonly<Record<string, Member>> = {
  display_name: text,
  base_instructions: optional(text),
  shell_type: text,
  visibility: text,
  supported_in_api: flag,
  priority: integer,
  support_verbosity: flag,
  truncation_policy: policy,
  experimental_supported_tools: texts,
  supported_reasoning_levels: optional(levels),
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
