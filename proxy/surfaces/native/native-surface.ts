// The native surface, for agent clients. They get an account's headers, events and errors as sent, without what identifies its owner.
import { SseSink } from '../../clients/http/replies/sse-sink.ts';
import { loggedCode } from '../../turn/errors/error-codes.ts';
import { blamesAccount, type Failure } from '../../turn/errors/failure.ts';
import { frameDataOf, Refusal } from '../../turn/errors/refusal.ts';
import { type Confidential, endWithoutOwner, jsonWithoutOwner, publicError, withoutOwner } from '../../turn/errors/sanitise.ts';
import { isObject, type Json, type JsonObject } from '../../turn/json/json.ts';
import { type FailureEventOptions, surface } from '../../turn/surface.ts';
import { type AnswerHeaderOptions, nativeAnswerHeaders, nativeEventHeaders, nativeRequestHeaders } from '../../turn/wire/headers.ts';
import { withoutMarker } from '../../turn/wire/lite-marker-names.ts';
import { bearerSecrets, errorType, publicSurface } from '../public/public-surface.ts';

export const nativeSurface = surface({
  name: 'native',
  idHeaders: ['x-request-id'],
  credentials: bearerSecrets,
  requestHeaders: nativeRequestHeaders,
  answerHeaders: nativeAnswerHeaders,
  agentProtocol: true,
  collects: false,
  numbersEvents: false,
  relaysWholeAnswers: true,
  refusalEvent: undefined,
  stream: (response) => new SseSink(response),
  brokenReply: 'cut',
  brokenReplyCode: 'upstream_error',

  endOf: cleanEnd,

  failureEvent(stated, failure, known, options) {
    const hasType = stated.type !== undefined || isObject(stated.response);
    const isError = !hasType || stated.type === 'error';
    // Some servers state the type of an error only in the name of its event. The body of an answer has none.
    const data = hasType || options.as === 'body' ? stated : { type: 'error', ...stated };
    const event = blamesAccount(failure)
      ? frameDataOf(new Refusal('upstream_error'))
      : failure.isForeign && isError
        ? foreignError(data, failure, known)
        : cleanEnd(data, known, options);
    return event.type === 'error' && options.as === 'turn stream' ? failedResponse(event, options) : event;
  },

  refusalOf(failure, options, known) {
    const { answer, status } = failure;
    if (answer === undefined || status === undefined) return publicSurface.refusalOf(failure, options, known);
    // A 402 blames the account, and a redirect names another host. Neither is passed on to a client.
    if (status === 402 || status < 400) return new Refusal('upstream_error');
    const text = answer.body.toString('utf8');
    let body: string;
    try {
      const json = jsonWithoutOwner(JSON.parse(text) as Json, known.secrets());
      body = JSON.stringify(isObject(json) ? withoutMarker(json, options.wire) : json);
    } catch {
      body = withoutOwner(text, known.secrets());
    }
    const headers = nativeAnswerHeaders(answer.headers, options);
    // An impossible wait is not passed on, because some clients sleep for any Retry-After (Q1).
    if (failure.retryAfterMs === undefined) delete headers['retry-after'];
    // Clients read whole seconds only.
    else if (headers['retry-after']?.includes('.')) headers['retry-after'] = String(Math.ceil(failure.retryAfterMs / 1000));
    return { status, headers, body, code: loggedCode(failure.error.code) };
  },
});

/** An error of an account of another API, in the form of the error table (AA63). */
function foreignError({ sequence_number }: JsonObject, failure: Failure, known: Confidential): JsonObject {
  const error = { ...publicError(failure.error, known), type: failure.error.type ?? errorType(failure) };
  return { type: 'error', ...(sequence_number === undefined ? {} : { sequence_number }), error };
}

function cleanEnd(data: JsonObject, known: Confidential, options: AnswerHeaderOptions): JsonObject {
  const clean = withoutMarker(endWithoutOwner(data, known.secrets()), options.wire);
  if (!isObject(clean.headers)) return clean;
  const headers = nativeEventHeaders(clean.headers, options);
  return headers === clean.headers ? clean : { ...clean, headers };
}

/** A failure as `response.failed`. Over SSE, native clients ignore `error` events and wait for the end of the response (RB21). */
function failedResponse(event: JsonObject, { responseId }: FailureEventOptions): JsonObject {
  const { code = null, message = '', param = null, sequence_number } = event;
  const error = isObject(event.error) ? event.error : { code, message, param };
  return {
    type: 'response.failed',
    ...(sequence_number === undefined ? {} : { sequence_number }),
    response: {
      ...(responseId === undefined ? {} : { id: responseId }),
      object: 'response',
      status: 'failed',
      // Clients decide by the code. If an error states only its type, the type is used as the code.
      error: { ...error, code: error.code ?? error.type ?? null },
      output: [],
    },
  };
}
