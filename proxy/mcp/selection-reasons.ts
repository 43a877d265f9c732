// The reasons of the request log for the choice of an account, as sentences (Q7).
import { CHOSEN_BECAUSE, NOT_CHOSEN_BECAUSE, type RequestRow } from '../../store/schema/request-log.ts';

const meaningOf = (reason: string): string => NOT_CHOSEN_BECAUSE[reason] ?? reason;

export const chosenBecause = (reason: string): string => CHOSEN_BECAUSE[reason] ?? `the strategy ${reason} of the Pool preferred it`;

/** Why an account that was not tried was not chosen: the row counts the accounts of each reason, and does not name them. */
export function notChosenBecause(why: RequestRow['why']): string {
  const reasons = Object.entries(why?.others ?? {}).filter(([reason]) => reason !== 'tried');
  if (reasons.length === 0)
    return why?.reason === 'hard_pin' ? 'no other account was compared' : 'was not in the Pool, or no account was chosen';
  if (reasons.length === 1) return reasons.map(([reason]) => meaningOf(reason)).join();
  return `one of: ${reasons.map(([reason, count]) => `${meaningOf(reason)} (${count})`).join('; ')}`;
}
