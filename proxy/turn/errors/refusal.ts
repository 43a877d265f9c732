// The error table (Q1), and its encodings for JSON, SSE and websocket frames (Q2).
import type { JsonObject } from '../json/json.ts';

type ErrorType = 'invalid_request_error' | 'rate_limit_error' | 'usage_limit_reached' | 'server_error';

interface Row {
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
  /** Sends `x-should-retry: false`: SDKs retry 409, 429 and 5xx. */
  readonly final?: true;
}

const row = (status: number, type: ErrorType, message: string): Row => ({ status, type, message });
const bad = (message: string, status = 400): Row => row(status, 'invalid_request_error', message);

export const ERRORS = {
  invalid_api_key: bad('A valid Pool API key is required as a Bearer token.', 401),
  api_key_disabled: bad('This API key is paused or revoked.', 401),
  api_key_expired: bad('This API key has expired.', 401),
  ip_not_authorized: bad('This API key may not be used from this address.', 401),
  model_not_allowed: bad('This API key may not use the requested model.', 403),
  image_generation_disabled: bad('Image generation is disabled for this Pool.', 403),
  invalid_request: bad('The request is malformed.'),
  invalid_model: bad('The requested model is missing or unknown.'),
  unsupported_parameter: bad('A parameter of the request is not supported.'),
  reasoning_effort_not_allowed: bad('The requested reasoning effort is not available for this API key.'),
  invalid_json_schema: bad('The strict schema needs a direct object root.'),
  invalid_function_parameters: bad('The strict function parameters need a direct object root.'),
  output_tokens_not_allowed: bad('More output tokens were requested than this API key allows.'),
  previous_response_not_found: bad('The previous response is unknown here. Resend the full context without it.'),
  continuation_requires_restart: bad(
    'The account that holds this continuation is not available. Resend the full context without stale continuation anchors.',
  ),
  file_not_found: bad('No such file.', 404),
  file_conflict: bad('The files of one request must live on the same account.'),
  unsupported_endpoint: bad('This endpoint is not supported by this gateway.', 404),
  unknown_endpoint: bad('No such endpoint. The base URL of OpenAI clients ends with /v1, that of Anthropic clients has no /v1.', 404),
  method_not_allowed: bad('This endpoint does not accept that method.', 405),
  websocket_upgrade_required: bad('This Pool or route does not accept websockets. Use POST on the same path.', 426),
  request_timeout: bad('The request body stalled.', 408),
  request_too_large: bad('The request body is larger than this gateway accepts.', 413),
  unsupported_content_encoding: bad('The Content-Encoding must be identity, gzip, deflate, br or zstd.', 415),
  unsupported_media_type: bad('The Content-Type is not supported by this endpoint.', 415),
  rate_limit_exceeded: row(429, 'rate_limit_error', 'A rate limit was exceeded.'),
  usage_limit_reached: {
    ...row(429, 'usage_limit_reached', 'Every eligible account of this Pool has reached its usage limit.'),
    final: true,
  },
  no_eligible_account: row(503, 'server_error', 'No account of this Pool can serve the requested model at the moment.'),
  server_is_overloaded: row(503, 'server_error', 'The gateway is at its capacity. Try again shortly.'),
  upstream_error: row(502, 'server_error', 'The provider failed before it answered.'),
  upstream_timeout: row(504, 'server_error', 'The provider took too long to answer.'),
  invalid_compaction_response: { ...row(502, 'server_error', 'The provider returned an invalid compaction.'), final: true },
  image_generation_failed: { ...row(502, 'server_error', 'The provider returned no image.'), final: true },
  full_upstream_rejection: bad('The provider rejected this request.'),
  server_error: row(500, 'server_error', 'The gateway failed unexpectedly.'),
} as const satisfies Record<string, Row>;

export type ErrorCode = keyof typeof ERRORS;

/** The four keys that every error of a runtime route has, and `resets_at` (Unix seconds) if the end of a usage limit is known. */
export interface ErrorBody {
  readonly message: string;
  readonly type: string;
  readonly code: string | null;
  readonly param: string | null;
  readonly resets_at?: number;
}

export interface RefusalDetails {
  /** Dotted path with indexes, as the public API spells it: `tools.0.parameters`. */
  readonly param?: string;
  /** Replaces the type in the table. */
  readonly type?: ErrorType;
  /** Replaces the message in the table. It never contains text of a client or a provider. */
  readonly message?: string;
  /** The status, for codes that have several in the table. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * For a 429 or 503, sent as `Retry-After` in whole seconds, at least 1. A wait of more than 60 s is not sent, and makes the refusal final
   * (Q1).
   */
  readonly retryAfterMs?: number;
  /** Unix seconds. */
  readonly resetsAt?: number;
  /** Replaces `final` in the table, which is sent as `x-should-retry: false`. */
  readonly final?: boolean;
}

/** The only error whose message is public. The text of any other error stays in the process. */
export class Refusal extends Error {
  readonly status: number;
  readonly error: ErrorBody;
  readonly headers: Readonly<Record<string, string>>;
  #json: string | undefined;

  constructor(code: ErrorCode, details: RefusalDetails = {}) {
    const entry: Row = ERRORS[code];
    const message = details.message ?? entry.message;
    // A stack trace is not needed, and recording it is most of the cost of a refusal.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.status = details.status ?? entry.status;
    this.error = {
      message,
      type: details.type ?? entry.type,
      code,
      param: details.param ?? null,
      ...(details.resetsAt === undefined ? {} : { resets_at: details.resetsAt }),
    };
    this.headers = headersOf(this.status, entry, details);
  }

  get code(): string | null {
    return this.error.code;
  }

  /** The body of the answer. */
  get json(): string {
    this.#json ??= JSON.stringify({ error: this.error });
    return this.#json;
  }

  /** The code for rows and logs. It is always one of a closed list. */
  get loggedCode(): string | null {
    return this.code;
  }
}

/** The refusal of a request body that is not JSON. JSON-RPC has an error of its own for it (Q25). */
export class JsonSyntaxRefusal extends Refusal {
  constructor(message: string) {
    super('invalid_request', { message });
  }
}

/** A provider's error on the compatible surface. It keeps the status, and its caller has sanitised the texts (Q3). */
export class RelayedRefusal extends Refusal {
  override readonly status: number;
  override readonly error: ErrorBody;
  readonly #loggedCode: string;

  /** @param loggedCode the provider's code if it is a known one, because another code may repeat a client's text (S4) */
  constructor(status: number, error: ErrorBody, loggedCode: string) {
    super('upstream_error');
    this.status = status;
    this.error = error;
    this.#loggedCode = loggedCode;
  }

  override get loggedCode(): string {
    return this.#loggedCode;
  }
}

const plain = new Map<ErrorCode, Refusal>();

/** The refusal of a code without details. It is always the same object, so that repeated refusals cost little. */
export function plainRefusal(code: ErrorCode): Refusal {
  const known = plain.get(code);
  if (known) return known;
  const made = new Refusal(code);
  plain.set(code, made);
  return made;
}

/** The refusal of a model without a routable source. @param retryAfterMs the time until the first of its cooldowns ends, if it is known */
export const noEligibleAccount = (retryAfterMs: number | undefined): Refusal =>
  retryAfterMs === undefined ? plainRefusal('no_eligible_account') : new Refusal('no_eligible_account', { retryAfterMs });

/** The refusal of an HTTP request on a websocket row. Native clients then continue over HTTP at once. */
export const upgradeRequired = (): Refusal =>
  new Refusal('websocket_upgrade_required', { headers: { connection: 'Upgrade', upgrade: 'websocket' } });

/** The refusal of a gateway that stops. Another gateway, or this one after its start, can take the request. */
export const gatewayStops = (): Refusal => new Refusal('server_is_overloaded', { message: 'The gateway is stopping. Try again shortly.' });

/** Asks the client to send its full context again. A header with the deployment's word repeats the message (F8.2). */
export const restartRequired = (agent: string, message?: string): Refusal =>
  new Refusal('continuation_requires_restart', {
    headers: { [`x-${agent}-recovery`]: 'restart_with_full_context' },
    ...(message === undefined ? {} : { message }),
  });

/** The longest `Retry-After` that is sent. Some clients sleep for its whole length without a message to their user (Q1). */
export const LONGEST_RETRY_AFTER_MS = 60_000;

function headersOf(status: number, entry: Row, details: RefusalDetails): Record<string, string> {
  const headers: Record<string, string> = { ...details.headers };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  const wait = details.retryAfterMs;
  const long = wait !== undefined && wait > LONGEST_RETRY_AFTER_MS;
  const final = long || (details.final ?? entry.final ?? false);
  // A final refusal without a known wait has no time to state.
  if ((status === 429 || status === 503) && !long && !(final && wait === undefined)) {
    headers['retry-after'] = String(Math.max(1, Math.ceil((wait ?? 0) / 1000)));
  }
  if (final) headers['x-should-retry'] = 'false';
  return headers;
}

/** Turns any error into a refusal. Only a Refusal keeps its text. */
export function refusalOf(thrown: unknown): Refusal {
  return thrown instanceof Refusal ? thrown : new Refusal('server_error');
}

/** Whether a client acts on this header of a refusal. A frame has no headers, so it gets them in a member (RB27). */
const isAdvice = (name: string): boolean => name.endsWith('-recovery');

/** The data of an error frame. It always has a `status`, because a client without one hangs. */
export function frameDataOf({ status, error, headers }: Refusal): JsonObject {
  const advice = Object.entries(headers).filter(([name]) => isAdvice(name));
  return { type: 'error', status, error: { ...error }, ...(advice.length > 0 ? { headers: Object.fromEntries(advice) } : {}) };
}

/** An event that refuses a turn. */
export interface RefusalEvent {
  readonly type: 'error';
  readonly data: JsonObject & { readonly error: ErrorBody };
}

/** A public SSE error event. @param sequence continues the stream's numbers */
export function errorEvent(error: ErrorBody, sequence: number): RefusalEvent {
  const { message, code, param } = error;
  return { type: 'error', data: { type: 'error', sequence_number: sequence, code, message, param, error: { ...error } } };
}
