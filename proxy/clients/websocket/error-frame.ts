// Makes the error frame of an account's error. It has a numeric status and the four keys, because clients hang without them (Q2).
import { codeOfType, OVERLOAD_CODES } from '../../turn/errors/error-codes.ts';
import { errorIn, statusIn } from '../../turn/errors/error-statement.ts';
import { inBandFailure } from '../../turn/errors/failure.ts';
import { asString, isObject, type JsonObject } from '../../turn/json/json.ts';

const STATUSES = { request: 400, model: 400, quota: 429, rate: 429 } as const;

/** @param data an `error` event, or the body of a refusal @param status the status of the refusal; an event may state its own */
export function errorFrame(data: JsonObject, status = statusOf(data)): JsonObject {
  const { type: _, status: __, status_code: ___, error: nested, sequence_number: ____, ...rest } = data;
  const error = isObject(nested) ? nested : { ...errorIn(data) };
  const frame = {
    message: error.message ?? (isObject(nested) ? '' : 'The provider refused the request.'),
    type: error.type ?? typeOf(status),
    code: error.code ?? codeOfType(asString(error.type) ?? null),
    param: error.param ?? null,
  };
  return { type: 'error', status, error: { ...error, ...frame }, ...(isObject(nested) ? rest : {}) };
}

/** The type of an error that states none: that of its status in the table of errors (Q2). */
function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

function statusOf(data: JsonObject): number {
  const stated = statusIn(data);
  if (stated !== undefined) return stated;
  // The time does not matter, because only the cause of the failure is read.
  const { cause, error } = inBandFailure(data, 0);
  if (OVERLOAD_CODES.has(error.code ?? '') || OVERLOAD_CODES.has(error.type ?? '')) return 503;
  return cause in STATUSES ? STATUSES[cause as keyof typeof STATUSES] : 502;
}
