// The places in the turn that an account of another API names in its errors (AA64).
import type { PlaceOf } from './stated-waits.ts';

const MEMBERS: readonly (readonly [RegExp, string])[] = [
  [/^messages(?:$|[.[])/, 'input'],
  [/^max_(?:completion_)?tokens$/, 'max_output_tokens'],
  [/^response_format(?:$|\.)/, 'text.format'],
  [/^reasoning_effort$/, 'reasoning.effort'],
  [/^model$/, 'model'],
];

/**
 * A replaced tool has another place in the request than in the client's turn. Places of tools are passed on only if no tool was replaced.
 */
export const chatPlace: PlaceOf = (param, sent) => {
  const tool = /^tools[.[](\d+)\]?\.function\.(\w+)$/.exec(param);
  if (tool) return sent?.adapted.some((name) => name.startsWith('tools')) ? null : `tools.${tool[1]}.${tool[2]}`;
  return MEMBERS.find(([member]) => member.test(param))?.[1] ?? null;
};

/** Maps the places of items, because the account got the turn's items without those that were left out. */
export const responsesPlace: PlaceOf = (param, sent) => sent?.places?.before(param) ?? param;
