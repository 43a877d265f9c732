// `list_models`: the models of the operator's Pools, with their modes, windows and sources.
import { advertisedWindow } from '../../models/context-window.ts';
import { priceAt } from '../../turn/costs/prices.ts';
import { args, integer, list, name, nullable, object, oneOf, text, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { PoolConfig } from '../../turn/settings.ts';
import { PRICES } from '../money-fields.ts';
import type { OperatorView } from '../operator-view.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageOf } from '../paging.ts';
import { tool } from '../tool.ts';

const STATES = ['routable', 'unroutable', 'invisible', 'suppressed'] as const;

const MODEL_ROW = object({
  pool: text('Id of the Pool.'),
  id: text('Exposed model id.'),
  state: oneOf(
    STATES,
    'routable: turns can get it. unroutable: no account that lists it is usable (503). invisible: only switched-off accounts list it. suppressed: an operator removed it.',
  ),
  configured_mode: oneOf(['auto', 'lite', 'full'], 'auto: the catalog decides.'),
  effective_mode: nullable(oneOf(['lite', 'full'], 'Mode of the next turn; null while no account is usable.')),
  mode_source: nullable(oneOf(['catalog', 'override'], 'What decides the mode.')),
  context_window: nullable(integer('Advertised window in tokens.')),
  effective_context_window: nullable(integer('The part of it that clients may fill, in tokens: context_length of /v1/models.')),
  pricing_bucket: nullable(oneOf(['long_context', 'short_context'], 'Pricing bucket of the configuration.')),
  prices: nullable(PRICES),
  accounts: list('Ids of the accounts of this Pool that list it.', text('Id of an account.')),
  apis: list('The APIs of these accounts.', oneOf(['agent', 'responses', 'chat'], 'An API.')),
  sources: list(
    'The same accounts, with what a turn costs there.',
    object({
      account: text('Id of the account.'),
      api: oneOf(['agent', 'responses', 'chat'], 'The API that it speaks.'),
      tier: integer('The tier of its assignment.'),
      prices: nullable(PRICES),
    }),
  ),
  fallback: list('Models that a turn goes on to where no account can serve this one now.', text('Exposed model id.')),
});

export const listModels = tool({
  name: 'list_models',
  title: 'Models',
  description:
    'Lists the models of your Pools: whether turns can get each, its serving mode, context window, prices, and the accounts that list it. Use it for ' +
    '"is model-a available", "which accounts serve it" and "what does it cost".',
  input: args({
    id: name('Only this exposed model id.'),
    pool: name('Only of this Pool (id).'),
    account: name('Only models that this account (id) lists.'),
    state: oneOf(STATES, 'Only models in this state.'),
    ...PAGE_ARGS,
  }),
  output: object({ models: list('By Pool, in the order of the catalog.', MODEL_ROW), ...NEXT_CURSOR }),
  run({ id: named, pool, account, state, ...page }, view) {
    const found = view.pools
      .filter((one) => pool === undefined || one.id === pool)
      .flatMap((one) => modelsOf(one, view))
      .filter(
        (model) =>
          (named === undefined || model.id === named) &&
          (account === undefined || model.accounts.includes(account)) &&
          (state === undefined || model.state === state),
      );
    const { rows, next_cursor } = pageOf(found, page);
    return { models: rows, next_cursor };
  },
});

function modelsOf(pool: PoolConfig, view: OperatorView): readonly ValueOf<typeof MODEL_ROW>[] {
  const models = view.services.models.models(pool);
  return models.all().flatMap(({ id: model }) => {
    const known = models.get(model);
    const presence = models.presence(model);
    if (!known || presence === 'absent') return [];
    const { window, effective } = advertisedWindow(known.cohort[0].entry.ceilings, known.model.config);
    const { mode } = known.view;
    const sources = known.model.sources.flatMap(({ account: id, tier }) => {
      const account = view.accounts.find((one) => one.id === id);
      return account ? [{ account: id, api: account.api, tier, prices: priceAt(account, model, pool) ?? null }] : [];
    });
    return [
      {
        pool: pool.id,
        id: model,
        state: presence,
        configured_mode: Object.hasOwn(pool.serving_modes, model) ? (pool.serving_modes[model] ?? 'auto') : 'auto',
        effective_mode: mode?.effective ?? null,
        mode_source: mode?.source ?? null,
        context_window: window ?? null,
        effective_context_window: effective ?? null,
        pricing_bucket: known.model.config?.pricing_bucket ?? null,
        prices: known.model.config?.prices ?? null,
        accounts: known.model.sources.map(({ account }) => account),
        apis: [...new Set(sources.map(({ api }) => api))],
        sources,
        fallback: [...(known.model.config?.fallback ?? [])],
      },
    ];
  });
}
