// The surface of Chat Completions: addressed like the compatible surface, with completions of its own in answers and streams (D4, A8).
import { chatCompletion } from './chat-completion.ts';
import { chatParam } from './chat-params.ts';
import { inClientWords } from './error-words.ts';
import type { Failure } from './failure.ts';
import { withoutMarker } from './lite-marker.ts';
import { errorType, publicRefusalEvent, publicSurface, shownError } from './public-surface.ts';
import { publicError, publicFailure } from './sanitise.ts';
import type { Surface } from './surface.ts';

export const chatSurface: Surface = {
  ...publicSurface,
  name: 'chat',
  numbersEvents: false,
  answer: chatCompletion,

  /** With the error as the stream's error chunk has it (F1.9); rules read the rest. */
  failureEvent(data, failure, known, { wire }) {
    const stated = inClientWords(shownError(failure), chatParam);
    const resets = failure.resetsAt === undefined ? {} : { resets_at: failure.resetsAt };
    const error = { ...publicError(stated, known), type: errorType(failure), ...resets };
    return { ...withoutMarker(publicFailure(data, stated, known), wire), error };
  },

  refusalEvent: (failure, collected, known) => publicRefusalEvent(inChat(failure), collected, known),
  refusalOf: (failure, options, known) => publicSurface.refusalOf(inChat(failure), options, known),
};

const inChat = (failure: Failure): Failure => ({ ...failure, error: inClientWords(failure.error, chatParam) });
