// How a response ends: the meaning of each finish reason (AA54), and the code of one that failed after its output began (AA59).
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

/** The class of the error decides, not the account's own code. @param error as the account sent it. @param now Unix milliseconds */
export function failedCode(error: JsonObject, now: number): string {
  const { cause, error: stated } = failures.inBand(error, now);
  if (cause === 'rate') return 'rate_limit_exceeded';
  if (cause === 'quota') return 'usage_limit_reached';
  return stated.code === 'context_length_exceeded' ? stated.code : 'upstream_error';
}
