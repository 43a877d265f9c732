// The errors of Messages clients: their form, types and statuses, and the sentences that clients act on (AM10 to AM18).
import { isoOfMs } from '../../base/time/iso-time.ts';
import { type Failure, isOverload, OVERLOADED } from '../../turn/errors/failure.ts';
import { type ErrorBody, Refusal } from '../../turn/errors/refusal.ts';
import type { JsonObject } from '../../turn/json/json.ts';

type MessagesErrorType =
  | 'authentication_error'
  | 'permission_error'
  | 'invalid_request_error'
  | 'not_found_error'
  | 'request_too_large'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'overloaded_error'
  | 'api_error';

/** The part of an error that the client's error shows. */
type Stated = Pick<ErrorBody, 'message' | 'code' | 'param' | 'resets_at'>;

const TYPES: Readonly<Record<string, MessagesErrorType>> = {
  invalid_api_key: 'authentication_error',
  api_key_disabled: 'authentication_error',
  api_key_expired: 'authentication_error',
  ip_not_authorized: 'authentication_error',
  model_not_allowed: 'permission_error',
  unsupported_endpoint: 'not_found_error',
  unknown_endpoint: 'not_found_error',
  file_not_found: 'not_found_error',
  request_too_large: 'request_too_large',
  rate_limit_exceeded: 'rate_limit_error',
  usage_limit_reached: 'rate_limit_error',
  request_timeout: 'timeout_error',
  upstream_timeout: 'timeout_error',
  server_is_overloaded: 'overloaded_error',
  no_eligible_account: 'api_error',
  upstream_error: 'api_error',
  server_error: 'api_error',
};

function typeOf(code: string | null, status: number): MessagesErrorType {
  const known = code === null ? undefined : TYPES[code];
  if (known) return known;
  if (code === 'invalid_model' && status === 404) return 'not_found_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

/** The code of an error. The refusal of `thread` has a code of its own, which clients recognise. */
const codeOf = ({ code, param }: Stated): string =>
  param === 'thread' && code === 'unsupported_parameter' ? 'thread_unsupported_request' : (code ?? 'upstream_error');

/** The body of an answer, or the data of an event, with an error. */
function envelope(stated: Stated, type: MessagesErrorType, requestId: string): JsonObject {
  const { resets_at } = stated;
  const details = { error_code: codeOf(stated), ...(resets_at === undefined ? {} : { resets_at }) };
  return { type: 'error', error: { type, message: messageOf(stated), details }, request_id: requestId };
}

/** The message of an error. The place of the error comes first, because clients print only the message (AM11). */
function messageOf({ message, param, code }: Stated): string {
  const place = code === 'invalid_model' ? 'model' : param;
  if (place === null) return message;
  const own = `\`${place}\` `;
  return `${place}: ${message.startsWith(own) ? message.slice(own.length) : message}`;
}

/** A refusal in the form that a Messages client gets. */
export class MessagesRefusal extends Refusal {
  override readonly status: number;
  override readonly error: ErrorBody;
  override readonly headers: Readonly<Record<string, string>>;
  readonly #of: Refusal;
  readonly #requestId: string;

  /** @param message replaces the refusal's own message and place */
  constructor(of: Refusal, requestId: string, message?: string) {
    super('server_error');
    const overloaded = of.code === 'server_is_overloaded';
    this.#of = of;
    this.#requestId = requestId;
    this.status = overloaded ? OVERLOADED : isTooLong(of.code) ? 400 : of.status;
    this.error = message === undefined ? of.error : { ...of.error, message, param: null };
    this.headers = {
      ...of.headers,
      'request-id': requestId,
      ...(of.status === 401 ? { 'x-should-retry': 'false' } : {}),
      ...(overloaded && of.headers['retry-after'] === undefined ? { 'retry-after': '1' } : {}),
    };
  }

  override get loggedCode(): string | null {
    return this.#of.loggedCode;
  }

  override get json(): string {
    return JSON.stringify(envelope(this.error, typeOf(this.error.code, this.status), this.#requestId));
  }
}

/** The event of a refusal that ends a stream. */
export const streamError = ({ error, status }: Refusal, requestId: string): JsonObject =>
  envelope(error, typeOf(error.code, status), requestId);

/** The event of an account's failure inside a stream. @param error the error that the surface made */
export const failedStream = (error: ErrorBody, requestId: string): JsonObject =>
  envelope(error, error.type as MessagesErrorType, requestId);

/** The type of an account's failure inside a stream (AM16). */
export function failureType(failure: Failure): MessagesErrorType {
  const { cause } = failure;
  if (cause === 'quota' || cause === 'rate') return 'rate_limit_error';
  if (isOverload(failure)) return 'overloaded_error';
  return cause === 'request' ? 'invalid_request_error' : 'api_error';
}

/** The sentence at which clients compact their conversation (AM15). @param window the model's context window, if it is known */
export function tooLong(tokens: number, window: number | undefined): string {
  const count = window === undefined ? Math.max(tokens, 1) : Math.max(tokens, window + 1);
  return `prompt is too long: ${count} tokens > ${window ?? count - 1} maximum`;
}

export const isTooLong = (code: string | null): boolean => code === 'context_length_exceeded';

/**
 * The sentence that clients print if a Pool has no quota left. They do not try their turns again before the reset (AM12).
 * @param resetsAt Unix seconds
 */
export function outOfQuota(message: string, resetsAt: number): string {
  return `${message} It resets at ${isoOfMs(resetsAt * 1000)}.`;
}

/** The sentence from which clients learn the largest permitted cap (AM17). */
export const tooManyOutput = (asked: number, most: number): string =>
  `max_tokens: ${asked} > ${most}, which is the maximum allowed number of output tokens for this API key`;
