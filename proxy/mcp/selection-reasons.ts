// The words of the request log for the choice of an account, each with its meaning (Q7).
import type { RequestRow } from '../../store/store.ts';

/** Why the chosen account. Any other word is the strategy of the Pool. */
const CHOSEN: Readonly<Record<string, string>> = {
  hard_pin: 'the turn continues a response, file or socket of that account',
  soft_pin: 'its session went there last',
  locality: 'that account answered the last turn with its prompt_cache_key, and has its prompt cached',
  conversation: 'that account answered the last turn of the conversation, and has its prompt cached',
  ciphertext: 'its reasoning came from there',
};

/** Why another account was not chosen. */
const NOT_CHOSEN: Readonly<Record<string, string>> = {
  less_preferred: 'available, but the chosen one is preferred',
  tried: 'failed this turn before',
  not_a_source: 'does not serve the model',
  out_of_quota: 'its quota was exhausted',
  reserved: 'what was left of its quota was reserved for its owner',
  cooldown: 'was in cooldown',
  probing: 'a probe was in progress',
  reauth_required: 'needed another credential',
  at_max_concurrent: 'was at its max_concurrent',
};

const listed = (words: Readonly<Record<string, string>>): string =>
  Object.entries(words)
    .map(([word, meaning]) => `${word} (${meaning})`)
    .join(', ');

/** For descriptions of the field `why`. */
export const REASON_TEXT = `reason: ${listed(CHOSEN)}, or the strategy of the Pool. others: ${listed(NOT_CHOSEN)}.`;

const meaningOf = (reason: string): string => NOT_CHOSEN[reason] ?? reason;

export const chosenBecause = (reason: string): string => CHOSEN[reason] ?? `the strategy ${reason} of the Pool preferred it`;

/** Why an account that was not tried was not chosen: the row counts the accounts of each reason, and does not name them. */
export function notChosenBecause(why: RequestRow['why']): string {
  const reasons = Object.entries(why?.others ?? {}).filter(([reason]) => reason !== 'tried');
  if (reasons.length === 0)
    return why?.reason === 'hard_pin' ? 'no other account was compared' : 'was not in the Pool, or no account was chosen';
  if (reasons.length === 1) return reasons.map(([reason]) => meaningOf(reason)).join();
  return `one of: ${reasons.map(([reason, count]) => `${meaningOf(reason)} (${count})`).join('; ')}`;
}
