// The models of the rehearsal provider. Their entries have every member that native clients need.
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../turn/json/json.ts';

interface SampleModel {
  readonly slug: string;
  readonly display_name: string;
  readonly description: string;
  readonly context_window: number;
  readonly lite: boolean;
  readonly priority: number;
}

const LEVELS = [
  { effort: 'low', description: 'Quick answers' },
  { effort: 'medium', description: 'Balanced' },
  { effort: 'high', description: 'Thorough answers' },
];

/** The entry of a model. A native client drops the whole catalog if a member of one entry is missing or has another type. */
function entryOf(model: SampleModel): JsonObject {
  return {
    slug: model.slug,
    display_name: model.display_name,
    description: model.description,
    default_reasoning_level: 'medium',
    supported_reasoning_levels: LEVELS,
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: model.priority,
    availability_nux: null,
    upgrade: null,
    base_instructions: 'You are a rehearsal: repeat what you were asked, and call the tools that you are asked to call.',
    supports_reasoning_summaries: true,
    support_verbosity: true,
    default_verbosity: 'low',
    apply_patch_tool_type: 'freeform',
    truncation_policy: { mode: 'tokens', limit: 10_000 },
    supports_parallel_tool_calls: true,
    context_window: model.context_window,
    max_context_window: model.context_window,
    effective_context_window_percent: 95,
    auto_compact_token_limit: Math.floor(model.context_window * 0.9),
    experimental_supported_tools: [],
    input_modalities: ['text', 'image'],
    use_responses_lite: model.lite,
  };
}

const SAMPLES: readonly SampleModel[] = [
  { slug: 'model-a', display_name: 'Model A', description: 'An ordinary model', context_window: 272_000, lite: false, priority: 1 },
  {
    slug: 'model-b',
    display_name: 'Model B',
    description: 'A large model, served in Lite mode',
    context_window: 872_000,
    lite: true,
    priority: 2,
  },
  { slug: 'model-mini', display_name: 'Model Mini', description: 'A small model', context_window: 128_000, lite: false, priority: 3 },
];

/** The sample models, with their windows limited to this size. */
export const modelsWithin = (window = Number.POSITIVE_INFINITY): readonly JsonObject[] =>
  SAMPLES.map((sample) => entryOf({ ...sample, context_window: Math.min(sample.context_window, window) }));

/** The answer to `GET …/models`. */
export interface SampleCatalog {
  readonly body: string;
  readonly etag: string;
  readonly slugs: ReadonlySet<string>;
  readonly models: readonly JsonObject[];
}

/** The answer for a list of entries. Equal entries give equal ETags. */
export function catalogOf(models: readonly JsonObject[]): SampleCatalog {
  const body = JSON.stringify({ models });
  const etag = `W/"${createHash('sha256').update(body).digest('hex').slice(0, 24)}"`;
  const slugs = new Set(models.map(({ slug }) => slug).filter((slug) => typeof slug === 'string'));
  return { body, etag, slugs, models };
}
