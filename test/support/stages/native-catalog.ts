// Reads a catalog as native clients do. They silently drop all of it if one entry cannot be parsed.
import assert from 'node:assert/strict';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';

type Check = (value: Json | undefined) => boolean;

const text: Check = (value) => typeof value === 'string';
const flag: Check = (value) => typeof value === 'boolean';
const whole: Check = (value) => Number.isInteger(value);
const object: Check = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
const texts: Check = (value) => Array.isArray(value) && value.every(text);
const level: Check = (value) => object(value) && text((value as JsonObject).effort) && text((value as JsonObject).description);

const REQUIRED: Readonly<Record<string, Check>> = {
  slug: text,
  display_name: text,
  supported_reasoning_levels: (value) => Array.isArray(value) && value.every(level),
  shell_type: text,
  visibility: text,
  supported_in_api: flag,
  priority: whole,
  support_verbosity: flag,
  truncation_policy: object,
  experimental_supported_tools: texts,
  use_responses_lite: flag,
  effective_context_window_percent: whole,
};

const WHERE_PRESENT: Readonly<Record<string, Check>> = {
  context_window: whole,
  max_context_window: whole,
  auto_compact_token_limit: whole,
  comp_hash: text,
  default_reasoning_level: text,
  supports_reasoning_summaries: flag,
  supports_parallel_tool_calls: flag,
  input_modalities: texts,
};

/** The entries by slug, in order. Fails if a native client would drop them. */
export function nativeCatalog(body: string): ReadonlyMap<string, JsonObject> {
  const { models } = JSON.parse(body) as { readonly models: readonly JsonObject[] };
  for (const entry of models) {
    for (const [member, fits] of Object.entries(REQUIRED)) assert.ok(fits(entry[member]), `${entry.slug}: ${member}`);
    for (const [member, fits] of Object.entries(WHERE_PRESENT))
      assert.ok(!(member in entry) || fits(entry[member]), `${entry.slug}: ${member}`);
    const template = (entry.model_messages as JsonObject | undefined)?.instructions_template;
    assert.ok(text(entry.base_instructions) || text(template), `${entry.slug}: instructions`);
  }
  // For a strict reader, a number with a point or an exponent is not an integer.
  assert.doesNotMatch(
    body,
    /"(priority|context_window|max_context_window|auto_compact_token_limit|effective_context_window_percent)":-?\d*[.eE]/,
  );
  return new Map(models.map((entry) => [entry.slug as string, entry]));
}
