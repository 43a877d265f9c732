// `list_accounts`: the accounts of the operator's Pools, by state, Pool or scarcity.
import { args, list, name, object, oneOf } from '../../turn/json/field-schemas.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { type AccountCondition, type AccountStatuses, CONDITIONS, conditionOf, statusesOf } from '../account-condition.ts';
import { ACCOUNT_ROW, shownAccount } from '../account-rows.ts';
import type { OperatorView } from '../operator-view.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageOf } from '../paging.ts';
import { tool } from '../tool.ts';

export const listAccounts = tool({
  name: 'list_accounts',
  title: 'Provider accounts',
  description:
    'Lists the provider accounts of your Pools: whether each takes turns now, if not why and until when, its turns in flight, and its quota windows ' +
    'with used percent and reset times. Use it for "which account is out of quota, and until when" (state: out_of_quota) and "which account needs ' +
    'a new login" (state: reauth_required).',
  input: args({
    id: name('Only the account with this id.'),
    pool: name('Only accounts of this Pool (id).'),
    state: oneOf(CONDITIONS, 'Only accounts in this state.'),
    order: oneOf(
      ['configuration', 'quota'],
      'quota: accounts that cannot take turns first, then those with the least quota left; switched off ones last. configuration by default.',
    ),
    ...PAGE_ARGS,
  }),
  output: object({ accounts: list('In the order that was asked for.', ACCOUNT_ROW), ...NEXT_CURSOR }),
  run({ id: named, pool, state, order, ...page }, view) {
    const states = statusesOf(view.services);
    const found = view.accounts
      .filter((account) => (named === undefined || account.id === named) && (pool === undefined || isIn(pool, account.id, view)))
      .map((account) => ({ account, condition: conditionOf(account, ...states.of(account.id)) }))
      .filter(({ condition }) => state === undefined || condition.state === state);
    const { rows, next_cursor } = pageOf(order === 'quota' ? found.toSorted(byScarcity(states)) : found, page);
    return { accounts: rows.map(({ account, condition }) => shownAccount(account, condition, states, view)), next_cursor };
  },
});

interface Found {
  readonly account: AccountConfig;
  readonly condition: AccountCondition;
}

const USABLE: ReadonlySet<AccountCondition['state']> = new Set(['available', 'at_max_concurrent']);
const SWITCHED_OFF: ReadonlySet<AccountCondition['state']> = new Set(['paused', 'invisible']);

/**
 * Sorts accounts by their importance for operators: first those that take no turns, then those with little capacity. Accounts that an
 * operator switched off come last.
 */
function byScarcity(states: AccountStatuses): (a: Found, b: Found) => number {
  const rankOf = ({ state }: AccountCondition): number => (SWITCHED_OFF.has(state) ? 2 : USABLE.has(state) ? 1 : 0);
  const leftOf = ({ account }: Found): number => {
    const [, quota] = states.of(account.id);
    // An account without stated quota counts as having all of it.
    return 100 - Math.max(0, ...(quota?.windows ?? []).map(({ used_percent }) => used_percent));
  };
  return (a, b) => rankOf(a.condition) - rankOf(b.condition) || leftOf(a) - leftOf(b) || a.account.id.localeCompare(b.account.id, 'en');
}

const isIn = (pool: string, account: string, view: OperatorView): boolean =>
  view.assignmentsOf(account).some((assigned) => assigned.pool === pool);
