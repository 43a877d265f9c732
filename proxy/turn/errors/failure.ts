// One failed attempt, classified: its cause decides whether another account is tried and what the client gets (Q5, Q6).
import { type JsonObject, parsedObject } from '../json/json.ts';
import type { Headers } from '../turn.ts';
import { isChallengePage } from './challenge-page.ts';
import {
  CLOSED_CODES,
  CREDENTIAL_CODES,
  IMAGE_CODES,
  LASTING_LIMITS,
  MODEL_CODES,
  OVERLOAD_CODES,
  QUOTA_CODES,
  RATE_CODES,
  REQUEST_CODES,
} from './error-codes.ts';
import { errorIn, hasReset, headersIn, NO_ERROR, type ProviderError, resetsAt, retryAfterMs, statusIn } from './error-statement.ts';

/**
 * Why a carrier returned no whole answer: `connect` (no connection), `connect_timeout` (none in time), `network` (the connection
 * died), `first_byte` (sent, no answer in time), `idle` (no next byte in time), `malformed` (not HTTP), `interim` (too many
 * interim answers before the answer), `too_large` (the reply needs more memory than it may have), `frame_too_large` (the account
 * closed a websocket for the size of the turn's frame).
 */
export type CarrierFailure =
  | 'connect'
  | 'connect_timeout'
  | 'network'
  | 'first_byte'
  | 'idle'
  | 'malformed'
  | 'interim'
  | 'too_large'
  | 'frame_too_large';

/**
 * `connect`, `network`: no whole answer; `timeout`: no answer in time; `credential`, `quota`, `rate`, `server`, `model`: the account is at
 * fault; `challenge_page`: a network's guard answered; `request`: the request is at fault, so no other account is tried; `malformed`:
 * the answer is not valid.
 */
export type FailureCause =
  | 'connect'
  | 'network'
  | 'timeout'
  | 'credential'
  | 'quota'
  | 'rate'
  | 'server'
  | 'model'
  | 'challenge_page'
  | 'request'
  | 'malformed';

export interface Failure {
  readonly cause: FailureCause;
  /** The provider's status; 200 if it refused inside a reply, undefined if no answer came. */
  readonly status: number | undefined;
  readonly error: ProviderError;
  /** Milliseconds, as stated in Retry-After. */
  readonly retryAfterMs: number | undefined;
  /** Unix seconds of the quota's reset. Undefined if the provider stated no time, or an impossible one. */
  readonly resetsAt: number | undefined;
  /** The exhausted quota has no time window: it is a limit of a workspace or of credits, or a plan without usage (RB22, RB23). */
  readonly lastingLimit?: boolean;
  /** The headers that an error frame repeats (RB27). The headers of an answer over HTTP are in `answer`. */
  readonly frameHeaders?: Headers;
  /** A time limit was exceeded: for the connection, or for the next byte. */
  readonly timedOut?: boolean;
  /** The waits in milliseconds that replace the default ones if the provider stated none (AA61). */
  readonly backoff?: { readonly firstMs: number; readonly longestMs: number };
  /** The account pauses after this one failure, for exactly `retryAfterMs`. */
  readonly pauses?: true;
  /**
   * `wrong_api`: the address may not belong to the API. `adapted`: the account refused something that the gateway changed in the request
   * (AA61).
   */
  readonly sign?: 'wrong_api' | 'adapted';
  /**
   * Set if the place that the error names is a place in the turn after its rules. Otherwise it is a place in the request that was sent
   * (AA64).
   */
  readonly namesTurn?: true;
  /** An account of another API stated the error. Native clients, too, get it in the form of the error table (AA63). */
  readonly isForeign?: true;
  /** The account refused the size of a websocket frame. */
  readonly frameTooLarge?: boolean;
  /**
   * Nothing was sent, because the API cannot express the request. No account is at fault, and accounts of other APIs can still be tried
   * (AA46).
   */
  readonly isUntranslated?: true;
  /** The provider's answer, which a native client gets sanitised. */
  readonly answer: { readonly headers: Headers; readonly body: Buffer } | undefined;
}

const RETRYABLE: ReadonlySet<FailureCause> = new Set([
  'connect',
  'network',
  'credential',
  'quota',
  'rate',
  'server',
  'model',
  'challenge_page',
]);

/** Whether the failure permits an attempt at another account (Q6). */
export const isRetryable = ({ cause, isUntranslated }: Failure): boolean => RETRYABLE.has(cause) || isUntranslated === true;

const CREDENTIAL_STATUSES = new Set([401, 403, 407]);

/** Statuses that blame the account. 402 means that the account is unpaid. */
const ACCOUNT_STATUSES: ReadonlySet<number | undefined> = new Set([...CREDENTIAL_STATUSES, 402]);

/** Whether the provider's status blames the account. Such a status is never sent to a client (Q3). */
export const blamesAccount = ({ status }: Pick<Failure, 'status'>): boolean => ACCOUNT_STATUSES.has(status);

/** Statuses of a provider that mean the same to a client of another API, so that they are kept (Q2, Q3). */
export const KEPT_STATUSES: ReadonlySet<number> = new Set([400, 404, 409, 413, 422]);

/**
 * Whether the account serves nothing until an operator logs in again, because its credential was refused or its workspace is closed (RB5).
 */
export const needsLogin = ({ cause, status, error }: Failure): boolean => cause === 'credential' && (status === 401 || isClosed(error));

const isClosed = ({ code }: ProviderError): boolean => CLOSED_CODES.has(code ?? '');

/** The status of an overloaded service. Clients of Messages ask it three times, and then try another model. */
export const OVERLOADED = 529;

/** Whether the provider says that it is overloaded. */
export const isOverload = ({ status, error: { code, type } }: Pick<Failure, 'status' | 'error'>): boolean =>
  status === OVERLOADED || OVERLOAD_CODES.has(code ?? '') || OVERLOAD_CODES.has(type ?? '');

const CARRIER_CAUSES: Readonly<Record<CarrierFailure, FailureCause>> = {
  connect: 'connect',
  connect_timeout: 'connect',
  network: 'network',
  first_byte: 'timeout',
  idle: 'network',
  malformed: 'malformed',
  interim: 'malformed',
  too_large: 'malformed',
  frame_too_large: 'request',
};

const NOTHING_STATED = { error: NO_ERROR, retryAfterMs: undefined, resetsAt: undefined, answer: undefined } as const;

/** The failure of an attempt without a whole answer. */
export function carrierFailure(failure: CarrierFailure): Failure {
  const timedOut = failure === 'connect_timeout' || failure === 'idle' ? { timedOut: true } : {};
  const frameTooLarge = failure === 'frame_too_large' ? { frameTooLarge: true } : {};
  return { cause: CARRIER_CAUSES[failure], status: undefined, ...NOTHING_STATED, ...timedOut, ...frameTooLarge };
}

/**
 * The failure of an attempt that was not sent because it had no credential. The provider refused to issue one, did not answer, or a
 * network's guard answered.
 */
export function unsentFailure(why: 'refused' | 'failed' | 'challenged'): Failure {
  if (why === 'refused') return { cause: 'credential', status: 401, ...NOTHING_STATED };
  return { cause: why === 'challenged' ? 'challenge_page' : 'connect', status: undefined, ...NOTHING_STATED };
}

/** The failure of an attempt for which no request could be written (AA46). */
export const untranslatedFailure = (): Failure => ({ ...carrierFailure('malformed'), isUntranslated: true });

/** The failure of an answer with any status but 200. */
export function statusFailure(status: number, headers: Headers, body: Buffer, now: number): Failure {
  const json = parsedObject(body.toString('utf8'));
  const error = errorIn(json);
  const lastingLimit = statesLastingLimit(error, headers);
  return {
    cause: isChallengePage(status, headers, body) ? 'challenge_page' : causeOf(status, error, { lastingLimit, reset: hasReset(json) }),
    status,
    error,
    retryAfterMs: retryAfterMs(headers['retry-after'], now),
    resetsAt: resetsAt(json, now),
    ...(lastingLimit ? { lastingLimit } : {}),
    answer: { headers, body },
  };
}

/**
 * The failure that an `error` or `response.failed` event states, or a whole answer of status 200 with an error in it. An error frame states
 * a status of its own.
 */
export function inBandFailure(data: JsonObject, now: number): Failure {
  const error = errorIn(data);
  const frameHeaders = headersIn(data);
  const lastingLimit = statesLastingLimit(error, frameHeaders);
  // A login that is refused inside a reply is renewed, as after a refusal with a status (RB5).
  const stated = statusIn(data) ?? (CREDENTIAL_CODES.has(error.code ?? '') ? 401 : isClosed(error) ? 402 : undefined);
  return {
    cause: stated === undefined ? inBandCause(error, lastingLimit) : causeOf(stated, error, { lastingLimit, reset: hasReset(data) }),
    status: stated ?? 200,
    error,
    retryAfterMs: retryAfterMs(frameHeaders['retry-after'], now),
    resetsAt: resetsAt(data, now),
    ...(lastingLimit ? { lastingLimit } : {}),
    ...(data.headers === undefined ? {} : { frameHeaders }),
    answer: undefined,
  };
}

interface StatedQuota {
  readonly lastingLimit: boolean;
  /** Whether a reset time was stated, valid or not. */
  readonly reset: boolean;
}

function causeOf(status: number, error: ProviderError, { lastingLimit, reset }: StatedQuota): FailureCause {
  // An answer to a turn cannot have these statuses: HTTP ends at 599 (Q3).
  if (status < 400 || status > 599) return 'malformed';
  if (lastingLimit && status !== 401 && status < 500) return 'quota';
  if (CREDENTIAL_STATUSES.has(status)) return 'credential';
  // An unpaid account is as unusable as one with a refused credential, unless the error states an exhausted quota.
  if (status === 402) return isQuota(error) || reset ? 'quota' : 'credential';
  if (status === 429) return isQuota(error) || reset ? 'quota' : 'rate';
  if (status >= 500) return 'server';
  if ((status === 400 || status === 404) && isModel(error)) return 'model';
  return 'request';
}

/** The cause that the code states. If the code says nothing, the type is used (RB21). */
function inBandCause(error: ProviderError, lastingLimit: boolean): FailureCause {
  const [code, type] = [error.code ?? '', error.type ?? ''];
  if (lastingLimit || isQuota(error)) return 'quota';
  if (RATE_CODES.has(code)) return 'rate';
  if (isModel(error)) return 'model';
  if (REQUEST_CODES.has(code) || IMAGE_CODES.has(code) || code.startsWith('invalid_') || code.startsWith('unsupported_')) return 'request';
  if (RATE_CODES.has(type)) return 'rate';
  return type === 'invalid_request_error' ? 'request' : 'server';
}

const isQuota = ({ code, type }: ProviderError): boolean => QUOTA_CODES.has(code ?? '') || QUOTA_CODES.has(type ?? '');

const isModel = ({ code, param }: ProviderError): boolean => MODEL_CODES.has(code ?? '') || param === 'model';

/** The end of the header's name `x-<agent>-rate-limit-reached-type`, which is the same for every `wire.agent`. */
const REACHED_TYPE = '-rate-limit-reached-type';

function statesLastingLimit({ code, type }: ProviderError, headers: Headers): boolean {
  const header = Object.keys(headers).find((name) => name.endsWith(REACHED_TYPE));
  return [code, type, header && headers[header]].some((word) => LASTING_LIMITS.has(word ?? ''));
}
