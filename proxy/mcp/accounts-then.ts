// Explains why a logged turn went to its account and not to another one, from its row, its attempts, and the current Pool.
import { CHOSEN_BECAUSE, NOT_CHOSEN_BECAUSE } from '../../store/schema/logged-rows.ts';
import type { AttemptRow, RequestRow } from '../../store/store.ts';
import { list, object, oneOf, text, type ValueOf } from '../turn/json/field-schemas.ts';
import type { OperatorView } from './operator-view.ts';

const ACCOUNT_THEN = object({
  account: text('Label of the account.'),
  outcome: oneOf(['chosen', 'tried', 'not_chosen'], 'chosen: it answered, or was tried last. tried: it failed before.'),
  why: text('The reason. Where the log has several reasons for several accounts, all of them, each with its number of accounts.'),
});

export type AccountThen = ValueOf<typeof ACCOUNT_THEN>;

export const ACCOUNTS_THEN = list('The accounts of its Pool, and why each was chosen, tried or not chosen then.', ACCOUNT_THEN);

/** The accounts by label, as in the log: first those that were tried, then the others that the Pool has now. */
export function accountsThen(row: RequestRow, attempts: readonly AttemptRow[], view: OperatorView): readonly AccountThen[] {
  const { account: chosen, why } = row;
  const tried = new Map(attempts.map(({ account, status, error_class }) => [account, error_class ?? `status ${status}`]));
  const pool = view.pools.find(({ id }) => id === row.pool);
  const others = (pool?.assignments ?? [])
    .map(({ account }) => view.labelOf(account))
    .filter((label) => label !== chosen && !tried.has(label));
  return [
    ...(chosen === null
      ? []
      : [{ account: chosen, outcome: 'chosen' as const, why: why ? chosenBecause(why.reason) : 'it was tried last' }]),
    ...[...tried].flatMap(([account, failure]) =>
      account === chosen ? [] : [{ account, outcome: 'tried' as const, why: `it failed: ${failure}` }],
    ),
    ...others.map((account) => ({ account, outcome: 'not_chosen' as const, why: notChosenBecause(why) })),
  ];
}

const meaningOf = (reason: string): string => NOT_CHOSEN_BECAUSE[reason] ?? reason;

const chosenBecause = (reason: string): string => CHOSEN_BECAUSE[reason] ?? `the strategy ${reason} of the Pool preferred it`;

/** The reason why an account that was not tried was not chosen. The row counts the accounts for each reason, without their names. */
function notChosenBecause(why: RequestRow['why']): string {
  const reasons = Object.entries(why?.others ?? {}).filter(([reason]) => reason !== 'tried');
  if (reasons.length === 0)
    return why?.reason === 'hard_pin' ? 'no other account was compared' : 'was not in the Pool, or no account was chosen';
  if (reasons.length === 1) return reasons.map(([reason]) => meaningOf(reason)).join();
  return `one of: ${reasons.map(([reason, count]) => `${meaningOf(reason)} (${count})`).join('; ')}`;
}
