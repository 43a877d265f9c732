// The state of an account as a word, a colour and a sentence.
import { time } from '../../base/format.js';

/** @type {Readonly<Record<string, readonly [import('../shown.js').Tone, string]>>} */
const WORDS = {
  available: ['good', 'available'],
  at_max_concurrent: ['warn', 'full'],
  out_of_quota: ['bad', 'out of quota'],
  reserved: ['warn', 'reserved'],
  cooldown: ['warn', 'cooldown'],
  probing: ['warn', 'probing'],
  challenge_page: ['bad', 'challenged'],
  no_models: ['bad', 'no models'],
  reauth_required: ['bad', 'login needed'],
  paused: ['idle', 'paused'],
  invisible: ['idle', 'switched off'],
};

/** @param {string} state @returns {readonly [import('../shown.js').Tone, string]} */
export const wordOf = (state) => WORDS[state] ?? ['idle', state];

/** @param {{ state: string, until: string | null, cause: string | null, max_concurrent: number }} account */
export function sentenceOf({ state, until, cause, max_concurrent }) {
  const end = until === null ? '' : ` until ${time(until)}`;
  switch (state) {
    case 'available':
      return 'Takes turns.';
    case 'at_max_concurrent':
      return `Runs ${max_concurrent} turns, as many as max_concurrent permits.`;
    case 'out_of_quota':
      return `Its provider refuses turns${end}.`;
    case 'reserved':
      return `What is left of its quota is kept for its owner${end}.`;
    case 'cooldown':
      return `Waits${end} after a failure${cause === null ? '' : ` (${cause})`}.`;
    case 'probing':
      return 'One turn decides whether it is healthy again.';
    case 'challenge_page':
      return 'A guard of the network answers with a page: check its headers.';
    case 'no_models':
      return `Its model list could not be read${cause === null ? '' : ` (${cause})`}.`;
    case 'reauth_required':
      return 'Its credential is refused: log it in again.';
    case 'paused':
      return 'An operator has paused it.';
    case 'invisible':
      return 'Switched off by visible: false.';
    default:
      return state;
  }
}
