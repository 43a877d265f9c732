// The body that is expected for a case: its own changes, and the members of every dispatch, stated independently of the rules.
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import type { WireCase } from './case.ts';
import type { Over } from './exchange.ts';

const ENCRYPTED = 'reasoning.encrypted_content';

/** The marker of Lite in a frame. */
const MARKER_ENTRY = 'ws_request_header_x_internal_agent_responses_lite';

/** The members of a public turn on the compact path (Q27). The trigger and members that only ordinary turns have are left out. */
const COMPACT_MEMBERS = [
  ...['model', 'input', 'instructions', 'tools', 'parallel_tool_calls', 'reasoning', 'text', 'service_tier', 'prompt_cache_key'],
  ...['metadata', 'client_metadata'],
];

/**
 * The whole body that must arrive at the account if the client sent `body`. For a compaction it has no trigger. In a frame it has the
 * marker of Lite.
 */
export function expectedDispatch(one: WireCase, body: JsonObject, over: Over): JsonObject {
  const { kind, changes, model } = one;
  const expected: Record<string, Json | undefined> = { ...body, ...changes };
  if (isCompact(kind)) return compactDispatch(one, expected);
  // Nulls count as absent (Q15).
  for (const list of ['input', 'tools']) if (expected[list] === null) delete expected[list];
  if (model.mode?.effective === 'lite') inLite(expected);
  expected.reasoning = reasoningOf(expected.reasoning, model.mode?.effective === 'lite');
  expected.include = includeOf(expected.include);
  if (over === 'websocket' && model.mode?.effective === 'lite') {
    expected.client_metadata = { ...(expected.client_metadata as JsonObject | null | undefined), [MARKER_ENTRY]: 'true' };
  }
  if (isPublic(kind)) Object.assign(expected, { stream: true, store: false });
  // An anchor exists only on a websocket (RB11).
  if (isPublic(kind) && over !== 'websocket') delete expected.previous_response_id;
  // A full turn of the compatible surface always has instructions (RB10).
  if (isPublic(kind) && model.mode?.effective === 'full' && typeof expected.instructions !== 'string') expected.instructions = '';
  return JSON.parse(JSON.stringify(expected)) as JsonObject;
}

/** Whether the kind belongs to the compatible surface, whose turns are sent as streams (Q15). */
export const isPublic = (kind: RouteKind): boolean => kind === 'public-responses' || kind === 'public-compact' || kind === 'chat';

export const isCompact = (kind: RouteKind): boolean => kind === 'compact' || kind === 'public-compact';

/** The compact request, to which nothing is added. Lite sets a context only in a `reasoning` that is present (F1.4, Q33). */
function compactDispatch({ kind, model }: WireCase, expected: Record<string, Json | undefined>): JsonObject {
  if (isPublic(kind)) {
    for (const member of Object.keys(expected)) if (!COMPACT_MEMBERS.includes(member)) delete expected[member];
    if (expected.tools === null) delete expected.tools;
  }
  const lite = model.mode?.effective === 'lite';
  if (lite) inLite(expected);
  if (typeof expected.reasoning === 'object' && expected.reasoning !== null) expected.reasoning = reasoningOf(expected.reasoning, lite);
  return JSON.parse(JSON.stringify(expected)) as JsonObject;
}

/** The changes of Lite, for cases that are not about these changes themselves (F2.5 to F2.8). */
function inLite(expected: Record<string, Json | undefined>): void {
  const input = Array.isArray(expected.input) ? (expected.input as readonly Json[]) : [];
  const first = input[0] as JsonObject | undefined;
  const isPrefix = first?.type === 'additional_tools' && first.role === 'developer' && (first.id ?? null) === null;
  if (!isPrefix) expected.input = [{ type: 'additional_tools', role: 'developer', tools: [] }, ...input];
  expected.parallel_tool_calls = false;
  delete expected.tools;
  delete expected.instructions;
}

const ALIASES: Readonly<Record<string, string>> = { minimal: 'low', ultra: 'max' };

function reasoningOf(value: Json | undefined, lite: boolean): JsonObject {
  const reasoning = { ...(value as JsonObject | null | undefined) };
  const alias = typeof reasoning.effort === 'string' ? ALIASES[reasoning.effort] : undefined;
  return { ...reasoning, ...(alias === undefined ? {} : { effort: alias }), ...(lite ? { context: 'all_turns' } : {}) };
}

function includeOf(value: Json | undefined): readonly Json[] {
  const include = (value ?? []) as readonly Json[];
  const at = include.indexOf(ENCRYPTED);
  return at < 0 ? [...include, ENCRYPTED] : include.filter((entry, i) => entry !== ENCRYPTED || i === at);
}
