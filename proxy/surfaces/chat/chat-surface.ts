// The surface of Chat Completions: addressed like the compatible surface, with completions of its own in answers and streams (D4, A8).

import { inClientWords } from '../../turn/errors/error-words.ts';
import type { Failure } from '../../turn/errors/failure.ts';
import { publicError, publicFailure } from '../../turn/errors/sanitise.ts';
import type { Surface } from '../../turn/surface.ts';
import { withoutMarker } from '../../turn/wire/lite-marker.ts';
import { errorType, publicRefusalEvent, publicSurface, shownError } from '../public/public-surface.ts';
import { chatCompletion } from './chat-completion.ts';
import { chatParam } from './chat-params.ts';

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
