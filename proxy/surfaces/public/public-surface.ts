// The compatible surface of Responses, for SDK clients. They get errors only in the form of the error table (Q1, Q3).
import { loggedCode } from '../../turn/errors/error-codes.ts';
import type { ProviderError } from '../../turn/errors/error-statement.ts';
import { blamesAccount, type Failure, KEPT_STATUSES } from '../../turn/errors/failure.ts';
import { errorEvent, Refusal, type RefusalEvent, RelayedRefusal } from '../../turn/errors/refusal.ts';
import { type Confidential, publicEnd, publicError, publicFailure } from '../../turn/errors/sanitise.ts';
import { asList } from '../../turn/json/json.ts';
import { surface } from '../../turn/surface.ts';
import type { Headers } from '../../turn/turn.ts';
import { bearerToken } from '../../turn/wire/bearer-token.ts';
import { publicAnswerHeaders, publicRequestHeaders } from '../../turn/wire/headers.ts';
import { withoutMarker } from '../../turn/wire/lite-marker-names.ts';
import { PublicSseSink } from './public-sse-sink.ts';

/** The key as a Bearer token. */
export function bearerSecrets(headers: Headers): readonly string[] {
  const token = bearerToken(headers);
  return token === undefined ? [] : [token];
}

/** The error that replaces one that blames the account. */
const UPSTREAM_ERROR: ProviderError = new Refusal('upstream_error').error;

/** The error that a client of the compatible surface gets for a failure inside a stream (Q3). */
export const shownError = (failure: Failure): ProviderError => (blamesAccount(failure) ? UPSTREAM_ERROR : failure.error);

/** The type that the refusal has in an answer that is not streamed (Q3, Q17). */
export function errorType({ cause }: Failure): string {
  if (cause === 'quota') return 'usage_limit_reached';
  if (cause === 'rate') return 'rate_limit_error';
  return cause === 'request' ? 'invalid_request_error' : 'server_error';
}

/** The only event of a stream that is refused. Its type is the one that the refusal has in a collected answer. */
function publicRefusalEvent({ error }: Failure, { error: { type, resets_at } }: Refusal, known: Confidential): RefusalEvent {
  const shown = { ...publicError(error, known), type, ...(resets_at === undefined ? {} : { resets_at }) };
  return errorEvent(shown, 0);
}

export const publicSurface = surface({
  name: 'public',
  idHeaders: ['x-request-id'],
  credentials: bearerSecrets,
  requestHeaders: publicRequestHeaders,
  answerHeaders: publicAnswerHeaders,
  agentProtocol: false,
  collects: true,
  numbersEvents: true,
  relaysWholeAnswers: false,
  stream: (response, turn) => new PublicSseSink(response, turn),
  brokenReply: 'close',
  brokenReplyCode: 'server_error',

  endOf: (data, known, { wire }) => withoutMarker(publicEnd(data, known.secrets()), wire),

  failureEvent(data, failure, known, { wire }) {
    const error = shownError(failure);
    return withoutMarker(publicFailure(data, { ...error, type: error.type ?? errorType(failure) }, known), wire);
  },

  refusalEvent: publicRefusalEvent,

  wholeAnswerEvents(response) {
    const finished = asList(response.output).map((item, output_index) => ({ type: 'response.output_item.done', output_index, item }));
    return [...finished, { type: 'response.completed', response }].map(({ type, ...members }, sequence_number) => ({
      type,
      data: { type, sequence_number, ...members },
    }));
  },

  refusalOf({ status, error, cause, retryAfterMs }, _options, known) {
    if (cause === 'rate' || cause === 'quota') {
      return new Refusal('rate_limit_exceeded', {
        message: 'The provider limits the rate of this request.',
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      });
    }
    // Any other refusal inside a 200 either blames the request or counts as a failed reply (Q3).
    const shown = status === 200 ? (cause === 'request' ? 400 : undefined) : status;
    if (shown === undefined || !KEPT_STATUSES.has(shown) || (error.message === null && error.code === null)) {
      return new Refusal('upstream_error');
    }
    const stated = publicError(error, known);
    // An error inside a reply gets this code if it states none. In the error table the code has another status (AA63).
    const code = stated.code === 'upstream_error' ? null : stated.code;
    return new RelayedRefusal(shown, { ...stated, type: 'invalid_request_error', code }, loggedCode(error.code));
  },
});
