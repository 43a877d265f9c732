// The field of a request that holds its effort: `reasoning.effort`, or `reasoning_effort` on Chat (F4.3).

import type { Json } from '../../proxy/turn/json.ts';
import { isObject } from '../../proxy/turn/json.ts';
import { type RouteKind, surfaceOf } from '../../proxy/turn/kinds.ts';
import type { Body } from '../../proxy/turn/turn.ts';

export interface EffortField {
  /** The path in a refusal. */
  readonly param: string;
  /** Undefined where it is omitted or null. */
  read(body: Body): Json | undefined;
  write(body: Body, effort: string): void;
}

const RESPONSES: EffortField = {
  param: 'reasoning.effort',
  read: ({ reasoning }) => (isObject(reasoning) ? (reasoning.effort ?? undefined) : undefined),
  write: (body, effort) => {
    body.reasoning = isObject(body.reasoning) ? { ...body.reasoning, effort } : { effort };
  },
};

const CHAT: EffortField = {
  param: 'reasoning_effort',
  read: ({ reasoning_effort }) => reasoning_effort ?? undefined,
  write: (body, effort) => {
    body.reasoning_effort = effort;
  },
};

/** On Chat it is the field of the client's own body: the policy runs before the translation. */
export const effortFieldOf = (kind: RouteKind | undefined): EffortField => (surfaceOf(kind) === 'chat' ? CHAT : RESPONSES);
