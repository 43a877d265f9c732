// The models of the rehearsal provider: entries with everything that native clients need, and the catalog's ETag.
import { createHash } from 'node:crypto';
import type { JsonObject } from '../turn/json.ts';

interface ModelShape {
  readonly slug: string;
  readonly display_name: string;
  readonly description: string;
  readonly context_window: number;
  readonly lite: boolean;
  readonly priority: number;
}

const levels = [
  { effort: 'low', description: 'Quick answers' },
  { effort: 'medium', description: 'Balanced' },
  { effort: 'high', description: 'Thorough answers' },
];

/** A catalog entry; native clients drop the whole catalog over one that lacks a member, or has one of another type. */
function entryOf(model: ModelShape): JsonObject {
  return {
    slug: model.slug,
    display_name: model.display_name,
    description: model.description,
    default_reasoning_level: 'medium',
    supported_reasoning_levels: levels,
    shell_type: 'shell_command',
    visibility: 'list',
    supported_in_api: true,
    priority: model.priority,
    availability_nux: null,
    upgrade: null,
    base_instructions: 'You are a rehearsal: say what you were asked, and call the tools that you are told to call.',
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

/** The default catalog: an ordinary model, a large one that is served Lite, and a small one. */
export const rehearsalModels: readonly JsonObject[] = [
  { slug: 'model-a', display_name: 'Model A', description: 'The ordinary one', context_window: 272_000, lite: false, priority: 1 },
  { slug: 'model-b', display_name: 'Model B', description: 'The large one, served Lite', context_window: 872_000, lite: true, priority: 2 },
  { slug: 'model-mini', display_name: 'Model Mini', description: 'The small one', context_window: 128_000, lite: false, priority: 3 },
].map(entryOf);

/** What `GET …/models` answers, written once. */
export interface Catalog {
  readonly body: string;
  readonly etag: string;
  readonly slugs: ReadonlySet<string>;
}

/** Writes a catalog; equal entries give equal ETags. */
export function catalogOf(models: readonly JsonObject[]): Catalog {
  const body = JSON.stringify({ models });
  const etag = `W/"${createHash('sha256').update(body).digest('hex').slice(0, 24)}"`;
  const slugs = new Set(models.map(({ slug }) => slug).filter((slug) => typeof slug === 'string'));
  return { body, etag, slugs };
}
