// Errors in the forms of the provider, `{error: {message, type, code, param}}` and `{detail}`, and the default code and message of each
// status.
import type { Json, JsonObject } from '../turn/json/json.ts';
import type { Manners } from './account/manners.ts';

/** Refuses a request: it becomes the provider's answer. */
export class SimulatedError extends Error {
  override readonly name = 'SimulatedError';
  readonly status: number;
  readonly code: string | null;
  readonly param: string | null;

  constructor(status: number, code: string | null, message: string, param: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.param = param;
  }
}

/** Refuses a bearer as the backend does: with the status in the body, and the code in a header too (RB5). */
export class BearerRefused extends Error {
  override readonly name = 'BearerRefused';
  readonly code: keyof typeof REFUSED_BEARERS;

  constructor(code: keyof typeof REFUSED_BEARERS) {
    super(REFUSED_BEARERS[code]);
    this.code = code;
  }
}

const REFUSED_BEARERS = {
  token_expired: 'Provided authentication token is expired. Please try signing in again.',
  token_invalidated: 'Your authentication token has been invalidated. Please try signing in again.',
  token_revoked: 'Your authentication token has been revoked. Please try signing in again.',
};

export const isBearerCode = (code: string): code is keyof typeof REFUSED_BEARERS => Object.hasOwn(REFUSED_BEARERS, code);

/** The answer to a bearer that is refused with this code. */
export const bearerRefusal = (
  code: keyof typeof REFUSED_BEARERS,
): { readonly body: JsonObject; readonly headers: Record<string, string> } => ({
  body: { error: errorOf(401, code, REFUSED_BEARERS[code]), status: 401 },
  headers: { 'x-openai-authorization-error': code },
});

/** Refuses a request in the other form of the backend, `{detail}`: a text, an object or a list (RB19). */
export class ProviderDetail extends Error {
  override readonly name = 'ProviderDetail';
  readonly status: number;
  readonly detail: Json;

  constructor(status: number, detail: Json) {
    super(typeof detail === 'string' ? detail : JSON.stringify(detail));
    this.status = status;
    this.detail = detail;
  }
}

/** Refuses a login in the form of RFC 6749, 5.2: `{error, error_description}`. */
export class GrantRefused extends Error {
  override readonly name = 'GrantRefused';
  readonly error: string;

  constructor(error: string, description: string) {
    super(description);
    this.error = error;
  }
}

/** The error object of a code. `extra` adds to its four members. */
export function errorOf(
  status: number,
  code: string | null,
  message: string,
  param: string | null = null,
  extra: JsonObject = {},
): JsonObject {
  return { message, type: typeOf(status, code), code, param, ...extra };
}

/** The error of a scripted refusal, in the form of the account's provider (RB21, RB22). */
export function inRefusalManner(error: JsonObject, { uncodedUsageLimits, bareErrorEvents }: Manners): JsonObject {
  if (bareErrorEvents && error.code === 'server_is_overloaded') return { ...error, type: 'service_unavailable_error' };
  if (!uncodedUsageLimits || error.code !== 'usage_limit_reached') return error;
  const { code: _, param: __, ...uncoded } = error;
  return uncoded;
}

/**
 * The headers of a usage limit. They state that the first window is used up, and that this is the reason (RB22, RB23).
 * @param resetsIn seconds
 */
export function spentHeaders(agent: string, now: number, resetsIn: number | undefined): Readonly<Record<string, string>> {
  const reset =
    resetsIn === undefined
      ? {}
      : {
          [`x-${agent}-primary-reset-at`]: String(Math.floor(now / 1000) + resetsIn),
          [`x-${agent}-primary-reset-after-seconds`]: String(resetsIn),
        };
  return { [`x-${agent}-primary-used-percent`]: '100', ...reset, [`x-${agent}-rate-limit-reached-type`]: 'rate_limit_reached' };
}

/** The refusal of a model that the account does not have (RB20). */
export const modelRefusal = (slug: string, { wordedModels }: Manners): Error =>
  wordedModels
    ? new ProviderDetail(400, `The '${slug}' model is not supported when using Codex with a ChatGPT account.`)
    : new SimulatedError(404, 'model_not_found', 'The requested model does not exist.', 'model');

/** The code and message of a status, used if the fault names none. */
export function defaultErrorOf(status: number): { readonly code: string; readonly message: string } {
  return DEFAULTS[status] ?? (status >= 500 ? SERVER_ERROR : BAD_REQUEST);
}

/** The message of a code that native clients recognise, else the default message of the status. */
export function messageOf(status: number, code: string | undefined): string {
  return (code === undefined ? undefined : MESSAGES[code]) ?? defaultErrorOf(status).message;
}

const SERVER_ERROR = { code: 'server_error', message: 'The rehearsal provider failed, as its fault script demands.' };
const BAD_REQUEST = { code: 'invalid_request', message: 'The rehearsal provider refused the request, as its fault script demands.' };

const DEFAULTS: Readonly<Record<number, { readonly code: string; readonly message: string }>> = {
  401: { code: 'token_expired', message: 'The credential has expired; log in again.' },
  402: { code: 'payment_required', message: 'The account has an unpaid invoice.' },
  403: { code: 'account_deactivated', message: 'The account has been deactivated.' },
  404: { code: 'model_not_found', message: 'The model does not exist, or this account has no access to it.' },
  429: { code: 'rate_limit_exceeded', message: 'Too many requests; slow down.' },
  498: { code: 'capacity_exceeded', message: 'The capacity of this tier is exceeded; try again later.' },
  503: { code: 'server_is_overloaded', message: 'The servers are overloaded; try again later.' },
};

const MESSAGES: Readonly<Record<string, string>> = {
  usage_limit_reached: 'The usage limit has been reached.',
  server_is_overloaded: 'The servers are overloaded; try again later.',
  rate_limit_exceeded: 'Too many requests; slow down.',
  insufficient_quota: 'You exceeded your current quota; check your plan and billing details.',
  invalid_api_key: 'The API key is not valid.',
  context_length_exceeded: 'The input exceeds the context window of this model.',
  invalid_encrypted_content: unverified('gAAAAABo'),
};

/** The refusal of reasoning or a compaction that another account encrypted (RB13). */
export const unverifiedContent = (ciphertext: string): SimulatedError =>
  new SimulatedError(400, 'invalid_encrypted_content', unverified(ciphertext));

function unverified(ciphertext: string): string {
  return `The encrypted content ${ciphertext.slice(0, 8)}... could not be verified.`;
}

function typeOf(status: number, code: string | null): string {
  if (code === 'usage_limit_reached' || code === 'insufficient_quota') return code;
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'server_error' : 'invalid_request_error';
}
