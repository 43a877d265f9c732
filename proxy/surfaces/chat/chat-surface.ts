// The surface of Chat Completions. It is addressed like the compatible surface, and has its own requests, completions and streams (D4, A8).
import { publicError, publicFailure } from '../../turn/errors/sanitise.ts';
import { surface } from '../../turn/surface.ts';
import { withoutMarker } from '../../turn/wire/lite-marker-names.ts';
import { errorType, publicSurface, shownError } from '../public/public-surface.ts';
import { chatCompletion } from './chat-completion.ts';
import { chatRequest } from './chat-request.ts';
import { ChatSseSink, type ChatStreamOptions } from './chat-sse-sink.ts';

export const chatSurface = surface<ChatStreamOptions>({
  ...publicSurface,
  name: 'chat',
  decode: chatRequest,
  numbersEvents: false,
  answer: chatCompletion,
  stream: (response, turn, options) => new ChatSseSink(response, turn, options),

  /** The event of a failure, with the error that the stream's error chunk has (F1.9). Rules read the other members. */
  failureEvent(data, failure, known, { wire }) {
    const stated = shownError(failure);
    const resets = failure.resetsAt === undefined ? {} : { resets_at: failure.resetsAt };
    const error = { ...publicError(stated, known), type: errorType(failure), ...resets };
    return { ...withoutMarker(publicFailure(data, stated, known), wire), error };
  },
});
