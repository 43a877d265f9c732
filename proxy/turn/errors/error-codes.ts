// The error codes of providers: the meaning of each, and whether it may be logged.

/**
 * Limits that have no time window: those of a workspace or its credits (RB23), and a plan without usage (RB22). They are stated in the
 * header `x-<agent>-rate-limit-reached-type`, or in the code or the type of an error.
 */
export const LASTING_LIMITS = new Set([
  'workspace_owner_credits_depleted',
  'workspace_member_credits_depleted',
  'workspace_owner_usage_limit_reached',
  'workspace_member_usage_limit_reached',
  'organization_spend_limit_exceeded',
  'credit_balance_exhausted',
  'usage_not_included',
]);
export const QUOTA_CODES = new Set(['usage_limit_reached', 'insufficient_quota', 'billing_hard_limit_reached', ...LASTING_LIMITS]);
/** The code of an error without a `code`: a usage limit is stated in the `type` (RB22). */
export const codeOfType = (type: string | null): string | null => (type !== null && QUOTA_CODES.has(type) ? type : null);
/** Codes and types of errors for a rate limit. */
export const RATE_CODES = new Set(['rate_limit_exceeded', 'rate_limit_reached', 'too_many_requests', 'rate_limit_error']);
/** The account's login is no longer accepted (RB5). */
export const CREDENTIAL_CODES = new Set(['token_expired', 'token_invalidated', 'token_revoked']);
/** The account's workspace was closed. The account needs a login to another workspace (RB5). */
export const CLOSED_CODES = new Set(['deactivated_workspace']);
/** Codes and types of errors for an overloaded provider. */
export const OVERLOAD_CODES = new Set([
  'server_is_overloaded',
  'slow_down',
  'service_unavailable',
  'service_unavailable_error',
  'overloaded_error',
]);
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

/** Codes for an image that cannot be used, as the Responses API lists them. Clients act on them (AM18). */
export const IMAGE_CODES = new Set([
  'invalid_image',
  'invalid_image_format',
  'invalid_base64_image',
  'invalid_image_url',
  'invalid_image_mode',
  'image_too_large',
  'image_too_small',
  'image_parse_error',
  'image_file_too_large',
  'image_file_not_found',
  'image_content_policy_violation',
  'unsupported_image_media_type',
  'empty_image_file',
  'failed_to_download_image',
]);

/** Further provider codes that may be logged. */
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
  'timeout',
  'websocket_connection_limit_reached',
]);

const KNOWN_CODES = [
  QUOTA_CODES,
  RATE_CODES,
  CREDENTIAL_CODES,
  CLOSED_CODES,
  OVERLOAD_CODES,
  MODEL_CODES,
  REQUEST_CODES,
  IMAGE_CODES,
  OTHER_CODES,
];

/**
 * The provider's code if it is a known one, else `upstream_error`. An unknown code is not logged, because it may repeat text of the request
 * (S4).
 */
export function loggedCode(code: string | null): string {
  const known = KNOWN_CODES.some((codes) => codes.has(code ?? ''));
  return code !== null && known ? code : 'upstream_error';
}
