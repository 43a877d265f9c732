// The effort and the output cap of Chat under the names of the Responses API (Q24).
import { isAbsent, type Json } from '../../turn/json/json.ts';
import type { Body } from '../../turn/turn.ts';

/** The smallest cap that the Responses API takes. Chat takes any cap, and clients that only test a model ask for one token. */
const LEAST_CAP = 16;

/** @param permitted the cap of the key's policy @returns the member that states the cap */
export function translateSettings(body: Body, permitted: number | undefined): string {
  const { reasoning_effort: effort, max_completion_tokens: cap, max_tokens: olderCap } = body;
  for (const name of ['reasoning_effort', 'max_completion_tokens', 'max_tokens']) delete body[name];
  if (!isAbsent(effort)) body.reasoning = { effort };
  // The key's limit applies to both members. If only the older one exceeds it, that member is refused.
  const older = isAbsent(cap) || (!isAbove(cap, permitted) && isAbove(olderCap, permitted));
  const stated = older ? olderCap : cap;
  if (isAbsent(stated)) return 'max_completion_tokens';
  body.max_output_tokens = accepted(stated, permitted);
  return older ? 'max_tokens' : 'max_completion_tokens';
}

const isAbove = (cap: Json | undefined, permitted = Number.POSITIVE_INFINITY): boolean => typeof cap === 'number' && cap > permitted;

/** The cap as it is sent. A value that is not a count stays, and the provider refuses it. */
function accepted(cap: Json, permitted = LEAST_CAP): Json {
  return typeof cap === 'number' && Number.isSafeInteger(cap) && cap >= 1 ? Math.max(cap, Math.min(LEAST_CAP, permitted)) : cap;
}
