// `list_pools`: the operator's Pools with their settings, and how much of each Pool is usable now.
import { STRATEGIES } from '../../accounts/selection/strategies/strategies.ts';
import { args, flag, integer, list, name, object, oneOf, text, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import { tiersOf } from '../../turn/tiers.ts';
import { CAP, shownCap } from '../money-fields.ts';
import type { OperatorView } from '../operator-view.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageOf } from '../paging.ts';
import { tool } from '../tool.ts';

const POOL_ROW = object({
  id: text('Id of the Pool.'),
  label: text('Its label.'),
  relation: oneOf(['owned', 'assigned'], 'Whether you own the Pool or are assigned to it.'),
  strategy: text(`How an account is chosen: ${Object.keys(STRATEGIES).join(', ')}.`),
  max_attempts: integer('Most accounts that are tried for one turn.'),
  allow_image_generation: flag('Whether image routes are allowed.'),
  request_compression_enabled: flag('Whether tool outputs in requests are compressed.'),
  prompt_cache_locality: flag('Whether a conversation stays at the account that has its prompt cached.'),
  hide_account_quota: flag("Whether clients do not get the accounts' quota headers."),
  serving_modes: list(
    'Modes that override the catalog, per model.',
    object({ model: text('Exposed model id.'), mode: oneOf(['auto', 'lite', 'full'], 'The mode.') }),
  ),
  tiers: list('The tiers of its assignments, the lowest first.', integer('0 to 9.')),
  overflow: object(
    {
      on: list('The states of lower tiers in which a higher one is asked.', oneOf(['quota', 'failing', 'full'], 'A state.')),
      wait_ms: integer('How long a turn waits for a lower tier that is full.'),
      reasoning: oneOf(['drop', 'keep'], 'drop: reasoning of another tier is left out; keep: its conversation stays where it is.'),
      caps: list('What higher tiers may cost, with what was spent in this window and what is left; empty: no cap.', CAP),
    },
    'When turns go to higher tiers, and what that may cost.',
  ),
  accounts: integer('Number of accounts that are assigned to it.'),
  models: integer('Number of models that its accounts list.'),
  routable_models: integer('Number of those that a turn can get now; quota is not considered.'),
  keys: integer('Number of its Pool API keys.'),
});

export const listPools = tool({
  name: 'list_pools',
  title: 'Pools',
  description:
    'Lists your Pools with their routing settings and the number of their accounts, models and keys. Use it first if you do not know the ids of ' +
    'your Pools. A Pool is a set of accounts that share their capacity; every Pool API key belongs to one Pool.',
  input: args({ id: name('Only the Pool with this id.'), ...PAGE_ARGS }),
  output: object({ pools: list('In configuration order.', POOL_ROW), ...NEXT_CURSOR }),
  run({ id, ...page }, view) {
    const { rows, next_cursor } = pageOf(
      view.pools.filter((pool) => id === undefined || pool.id === id),
      page,
    );
    return { pools: rows.map((pool) => shownPool(pool, view)), next_cursor };
  },
});

function shownPool(pool: PoolConfig, view: OperatorView): ValueOf<typeof POOL_ROW> {
  const {
    id,
    label,
    strategy,
    max_attempts,
    allow_image_generation,
    request_compression_enabled,
    prompt_cache_locality,
    hide_account_quota,
  } = pool;
  const models = view.services.models.models(pool);
  return {
    ...{ id, label, relation: view.isOwned(pool) ? 'owned' : 'assigned', strategy, max_attempts },
    ...{ allow_image_generation, request_compression_enabled, prompt_cache_locality, hide_account_quota },
    serving_modes: Object.entries(pool.serving_modes).map(([model, mode]) => ({ model, mode })),
    tiers: [...tiersOf(pool).all],
    overflow: {
      on: [...pool.overflow.on],
      wait_ms: pool.overflow.wait_ms,
      reasoning: pool.overflow.reasoning,
      caps: view.services.spending.states(pool).map(shownCap),
    },
    accounts: pool.assignments.length,
    models: models.all().length,
    routable_models: models.listed().models.length,
    keys: view.keys.filter((key) => key.pool === id).length,
  };
}
