// How a response ends: the meaning of each finish reason (AA54), and the error of one that failed after its output began (AA59).
import { type Failure, isOverload } from '../../../turn/errors/failure.ts';
import type { JsonObject } from '../../../turn/json/json.ts';
import { apiFailures } from '../../api-accounts/failures/api-failures.ts';
import { responsesPlace } from '../../api-accounts/failures/named-places.ts';

/** `unknown`: completed after output, and a server failure before it. */
export type Finish =
  | { readonly kind: 'completed' | 'failed' | 'unknown' }
  | { readonly kind: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' };

const CAPPED: Finish = { kind: 'incomplete', reason: 'max_output_tokens' };
const FILTERED: Finish = { kind: 'incomplete', reason: 'content_filter' };

const FINISHES: ReadonlyMap<string, Finish> = new Map<string, Finish>([
  ['stop', { kind: 'completed' }],
  ['tool_calls', { kind: 'completed' }],
  ['function_call', { kind: 'completed' }],
  ['eos', { kind: 'completed' }],
  ['length', CAPPED],
  ['max_tokens', CAPPED],
  ['model_length', CAPPED],
  ['content_filter', FILTERED],
  ['safety', FILTERED],
  ['error', { kind: 'failed' }],
  ['insufficient_system_resource', { kind: 'failed' }],
  ['abort', { kind: 'failed' }],
  ['network_error', { kind: 'failed' }],
  ['cancelled', { kind: 'failed' }],
]);

export const finishOf = (reason: string): Finish => FINISHES.get(reason) ?? { kind: 'unknown' };

const failures = apiFailures(responsesPlace);

/**
 * The error of a response that failed. The class of the error decides its code, not the account's own code. An overload is stated in the
 * type, because clients of Messages act on it (AM16).
 * @param error as the account sent it. @param now Unix milliseconds
 */
export function failedError(error: JsonObject, now: number): JsonObject {
  const failure = failures.inBand(error, now);
  return { code: codeOf(failure), message: 'The account failed.', ...(isOverload(failure) ? { type: 'service_unavailable_error' } : {}) };
}

function codeOf({ cause, error }: Failure): string {
  if (cause === 'rate') return 'rate_limit_exceeded';
  if (cause === 'quota') return 'usage_limit_reached';
  return error.code === 'context_length_exceeded' ? error.code : 'upstream_error';
}
