// The body that goes out for a case: its own changes, and what every dispatch has, stated independently of the rules.

import type { Json, JsonObject } from '../../../proxy/turn/json.ts';
import type { RouteKind } from '../../../proxy/turn/kinds.ts';
import type { WireCase } from './case.ts';

const ENCRYPTED = 'reasoning.encrypted_content';

/** The whole body that must arrive at the account, where the client sent `body`. */
export function expectedDispatch({ kind, changes, model }: WireCase, body: JsonObject): JsonObject {
  const expected: Record<string, Json | undefined> = { ...body, ...changes };
  // Nulls count as absent (Q15).
  for (const list of ['input', 'tools']) if (expected[list] === null) delete expected[list];
  if (model.mode?.effective === 'lite') inLite(expected);
  expected.reasoning = reasoningOf(expected.reasoning, model.mode?.effective === 'lite');
  expected.include = includeOf(expected.include);
  if (isPublic(kind)) Object.assign(expected, { stream: true, store: false });
  return JSON.parse(JSON.stringify(expected)) as JsonObject;
}

/** Of the compatible surface: its turns go out as streams (Q15). */
export const isPublic = (kind: RouteKind): boolean => kind === 'public-responses' || kind === 'chat';

/** F2.5 to F2.8, for the cases that are not about the rewrite itself: those have the tools item in what they expect. */
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
