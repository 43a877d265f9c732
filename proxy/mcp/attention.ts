// What needs an operator's attention: the gateway, accounts, Pools and keys that do not work, each with its state and a sentence.
import { list, nullable, object, oneOf, text, time, type ValueOf } from '../turn/json/field-schemas.ts';
import type { PoolConfig } from '../turn/settings.ts';
import { type AccountCondition, takesTurns } from './account-condition.ts';
import type { OperatorView } from './operator-view.ts';
import { iso, isoOrNull } from './times.ts';

const MATTER = object({
  about: oneOf(['gateway', 'account', 'pool', 'key'], 'What it is about.'),
  id: text('Id of the account, Pool or key; empty for the gateway.'),
  state: oneOf(
    [
      ...(['reload_refused', 'store_not_writable', 'store_in_use', 'sees_no_pool', 'no_routable_model', 'no_account'] as const),
      ...(['reauth_required', 'out_of_quota', 'challenge_page', 'no_models', 'cooldown', 'expired'] as const),
    ],
    'reload_refused, store_not_writable or store_in_use of the gateway; sees_no_pool if the operator has none; state of the account as in list_accounts; no_routable_model of a Pool, or no_account if none of its accounts takes turns; expired of a key.',
  ),
  until: nullable(time('When it ends by itself; null where it does not, or that is not known.')),
  text: text('Its state as a sentence.'),
});

export const MATTERS = list('The sentences of attention as objects, with what each is about.', MATTER);

export type Matter = ValueOf<typeof MATTER>;

/** @param routable returns the number of models that turns of the Pool at this index can use */
export function mattersOf(
  view: OperatorView,
  conditions: ReadonlyMap<string, AccountCondition>,
  routable: (index: number) => number,
): readonly Matter[] {
  const accounts = [...conditions].flatMap(([id, condition]) => accountMatter(id, condition));
  const pools = view.pools.flatMap((pool, index) => poolMatter(pool, conditions, routable(index)));
  const keys = view.keys.flatMap(({ id, status, expires_at }): Matter[] =>
    status === 'active' && expires_at !== undefined && view.now() >= expires_at
      ? [{ about: 'key', id, state: 'expired', until: null, text: `key ${id} has expired` }]
      : [],
  );
  return [...gatewayMatters(view), ...pools, ...accounts, ...keys];
}

function gatewayMatters({ isWhole, operator, pools, process, services: { store } }: OperatorView): readonly Matter[] {
  const about = { about: 'gateway', id: '', until: null } as const;
  const { failing_since, queued } = store.stats();
  const matters: Matter[] = [];
  if (failing_since !== null) {
    const waiting = `${queued} rows wait in memory, and the log has the reason (store_not_writable)`;
    matters.push({ ...about, state: 'store_not_writable', text: `the store cannot be written: ${waiting}` });
  }
  if (store.inUse())
    matters.push({
      ...about,
      state: 'store_in_use',
      text: 'another gateway has the same database: each of the two counts limits separately',
    });
  if (!process.follower.lastReloadSucceeded) {
    const text = 'the last reload was refused: the configuration file has errors, and what was read before still applies';
    matters.push({ ...about, state: 'reload_refused', text });
  }
  // Otherwise the empty lists of such an operator look as if nothing were wrong.
  if (!isWhole && pools.length === 0)
    matters.push({ ...about, state: 'sees_no_pool', text: `operator ${operator} sees no Pool: it owns none and is assigned none` });
  return matters;
}

function poolMatter(
  { id, assignments }: Pick<PoolConfig, 'id' | 'assignments'>,
  conditions: ReadonlyMap<string, AccountCondition>,
  models: number,
): readonly Matter[] {
  if (models === 0) return [{ about: 'pool', id, state: 'no_routable_model', until: null, text: `Pool ${id} can serve no model now` }];
  const states = assignments.flatMap(({ account, active, eligible }) => (active && eligible ? (conditions.get(account) ?? []) : []));
  if (states.some(({ state }) => takesTurns(state))) return [];
  const ends = states.flatMap(({ until }) => until ?? []);
  const until = ends.length === 0 ? null : iso(Math.min(...ends));
  return [
    {
      about: 'pool',
      id,
      state: 'no_account',
      until,
      text: `no account of Pool ${id} takes turns${until === null ? '' : ` until ${until}`}`,
    },
  ];
}

function accountMatter(id: string, { state, until: end, cause }: AccountCondition): readonly Matter[] {
  const until = isoOrNull(end);
  const ends = until === null ? '' : ` until ${until}`;
  switch (state) {
    case 'reauth_required':
      return [{ about: 'account', id, state, until, text: `account ${id} must be logged in again: its provider refuses its credential` }];
    case 'out_of_quota':
      return [{ about: 'account', id, state, until, text: `account ${id} is out of quota${ends}` }];
    case 'challenge_page':
      return [
        {
          ...{ about: 'account' as const, id, state, until },
          text: `account ${id} gets a challenge page of the network instead of answers: check its headers`,
        },
      ];
    case 'no_models':
      return [{ about: 'account', id, state, until, text: `account ${id} serves no model: its model list could not be read (${cause})` }];
    case 'cooldown':
      return [{ about: 'account', id, state, until, text: `account ${id} is in cooldown${ends}` }];
    default:
      return [];
  }
}
