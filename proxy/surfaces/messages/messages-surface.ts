// The surface of Messages, for clients of the Anthropic API. Their requests become Responses turns, and the replies become messages.
import { Refusal, RelayedRefusal } from '../../turn/errors/refusal.ts';
import { publicError } from '../../turn/errors/sanitise.ts';
import type { JsonObject } from '../../turn/json/json.ts';
import { surface } from '../../turn/surface.ts';
import type { Body, Turn } from '../../turn/turn.ts';
import { traceHeaders } from '../../turn/wire/headers.ts';
import { bearerSecrets, publicSurface, shownError } from '../public/public-surface.ts';
import { modelObject, modelPage } from './message-models.ts';
import { estimatedTokens, tokensOfMessages } from './message-tokens.ts';
import { failureType, isTooLong, MessagesRefusal, outOfQuota, tooLong, tooManyOutput } from './messages-error.ts';
import { messagesRequest } from './messages-request.ts';
import { MessageSseSink } from './reply/message-sse-sink.ts';
import { MessageCollector } from './reply/whole-message.ts';
import { decodeMessages, type MessagesRequest } from './request/decode.ts';

export const messagesSurface = surface<MessagesRequest>({
  ...publicSurface,
  name: 'messages',
  // Its clients send the header with all requests (AM3, AM10).
  claim: { path: '/v1/messages', header: 'anthropic-version' },
  idHeaders: ['x-request-id', 'request-id'],
  modelPage,
  modelObject,
  countTokens,
  // The first known secret counts, so that a key of another vendor in the other header does no harm (AM7).
  credentials: (headers) => {
    const { 'x-api-key': key } = headers;
    return key === undefined ? bearerSecrets(headers) : [...bearerSecrets(headers), key];
  },
  decode: messagesRequest,
  requestHeaders: traceHeaders,
  answerHeaders: () => ({}),
  numbersEvents: false,
  stream: (response, turn, request) => new MessageSseSink(response, turn, request),
  collector: (turn, request) => new MessageCollector(turn, request),

  refusal(refusal, turn, request) {
    return new MessagesRefusal(refusal, turn.id, request && sentence(refusal, turn, request));
  },

  measure(refusal, turn, request) {
    if (!isTooLong(refusal.code)) return undefined;
    return tokensOfMessages(request, (texts) => turn.countTokens(texts)).then((tokens) => {
      request.tokens = tokens;
    });
  },

  refusesByStatus: true,

  /**
   * The refusal for a failure. Clients ask an overloaded service three times, and then another model, but repeat their request for minutes
   * after any other failure of a provider (AM12).
   */
  refusalOf(failure, options, known) {
    if (failureType(failure) !== 'overloaded_error') return publicSurface.refusalOf(failure, options, known);
    const { retryAfterMs } = failure;
    return new Refusal('server_is_overloaded', {
      message: 'The provider is overloaded. Try again shortly.',
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    });
  },

  /** The event of a failure. The sink adds the form of the error. */
  failureEvent(_data, failure, known) {
    const resets = failure.resetsAt === undefined ? {} : { resets_at: failure.resetsAt };
    return { type: 'error', error: { ...publicError(shownError(failure), known), type: failureType(failure), ...resets } };
  },
});

/** @throws Refusal that names members of Messages */
async function countTokens(body: Body, turn: Turn): Promise<JsonObject> {
  const request = decodeMessages(body as JsonObject, { counts: true });
  const tokens = await tokensOfMessages(request, (texts) => turn.countTokens(texts));
  return { input_tokens: tokens, ...(request.managesContext ? { context_management: { original_input_tokens: tokens } } : {}) };
}

/** Codes for an image that cannot be used: those of the Responses API, and newer ones that are named alike. */
const IMAGE_CODE = /^(?:invalid|empty|unsupported|failed_to_download)(?:_base64)?_image|^image_/;

/** The refusal that a client gets if an account refused an image or a PDF (AM18). */
function unreadable({ status, error: { code, param } }: Refusal, { places }: MessagesRequest): string | undefined {
  if (status !== 400) return undefined;
  const type = param === null ? undefined : places.typeAt(param);
  if (type === 'input_image' || (code !== null && IMAGE_CODE.test(code))) return 'Could not process image';
  return type === 'input_file' ? 'Could not process PDF' : undefined;
}

/** The sentence for a refusal that clients act on. Undefined if the refusal keeps its own message. */
function sentence(refusal: Refusal, { key, model }: Pick<Turn, 'key' | 'model'>, request: MessagesRequest): string | undefined {
  const { code, resets_at, message } = refusal.error;
  if (isTooLong(code)) return tooLong(request.tokens ?? estimatedTokens(request), model?.window);
  if (code === 'usage_limit_reached' && resets_at !== undefined) return outOfQuota(message, resets_at);
  if (refusal instanceof RelayedRefusal) return unreadable(refusal, request);
  const most = key.output_tokens?.max;
  return code === 'output_tokens_not_allowed' && most !== undefined ? tooManyOutput(request.maxTokens ?? 0, most) : undefined;
}
