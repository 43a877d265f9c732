// The error codes of providers: what each is about, and which of them a row may have.

export const QUOTA_CODES = new Set(['usage_limit_reached', 'usage_not_included', 'insufficient_quota', 'billing_hard_limit_reached']);
export const RATE_CODES = new Set(['rate_limit_exceeded', 'rate_limit_reached', 'too_many_requests']);
export const MODEL_CODES = new Set(['model_not_found', 'model_not_supported']);
export const REQUEST_CODES = new Set([
  'context_length_exceeded',
  'content_filter',
  'content_policy_violation',
  'moderation_blocked',
  'cyber_policy',
  'bad_request',
  'string_above_max_length',
  'array_above_max_length',
  'previous_response_not_found',
]);

/** Further provider codes that a row may keep. */
const OTHER_CODES = new Set([
  'invalid_request_error',
  'invalid_request',
  'invalid_prompt',
  'invalid_type',
  'invalid_value',
  'invalid_json',
  'invalid_encrypted_content',
  'invalid_turn_state',
  'missing_required_parameter',
  'unknown_parameter',
  'unsupported_parameter',
  'unsupported_value',
  'unsupported_content_encoding',
  'not_found',
  'server_error',
  'internal_server_error',
  'server_is_overloaded',
  'service_unavailable',
  'slow_down',
  'timeout',
]);

/** The provider's code where it is a known one, else `upstream_error`: an unknown code may repeat text of the request (S4). */
export function loggedCode(code: string | null): string {
  const known = [QUOTA_CODES, RATE_CODES, MODEL_CODES, REQUEST_CODES, OTHER_CODES].some((codes) => codes.has(code ?? ''));
  return code !== null && known ? code : 'upstream_error';
}
