// `list_keys`: the Pool API keys of the operator's Pools with their policies and the current state of their limits.
import { args, integer, list, name, nullable, number, object, oneOf, text, time, type ValueOf } from '../../turn/json/field-schemas.ts';
import type { KeyConfig } from '../../turn/settings.ts';
import type { OperatorView } from '../operator-view.ts';
import { NEXT_CURSOR, PAGE_ARGS, pageOf } from '../paging.ts';
import { isoOrNull } from '../times.ts';
import { tool } from '../tool.ts';

const STATUSES = ['active', 'paused', 'revoked', 'expired'] as const;

export const KEY_ROW = object({
  id: text('Id of the key.'),
  pool: text('Id of its Pool.'),
  status: oneOf(STATUSES, 'Only an active key is accepted.'),
  expires_at: nullable(time('When it expires; null: never.')),
  models: nullable(list('Exposed model ids that it may use; null: all.', text('Exposed model id.'))),
  reasoning_effort: nullable(
    object({
      mode: oneOf(['allow_up_to', 'always'], 'allow_up_to: a ceiling. always: applied to every turn.'),
      effort: text('The effort.'),
    }),
  ),
  max_output_tokens: nullable(integer('Most output tokens that a turn may ask for; null: unlimited.')),
  limits: list(
    'Its limits with their current state; without any, it is unlimited.',
    object({
      type: oneOf(['requests', 'tokens', 'usd', 'concurrent'], 'What is limited.'),
      window: oneOf(
        ['minute', 'day', 'week', 'month', 'now'],
        'minute and week slide; day and month are those of UTC; now: turns at the same time.',
      ),
      max: number('The limit.'),
      current: number('How much is used, reservations of running turns included.'),
      remaining: number('How much is left; at 0 turns get 429 rate_limit_exceeded.'),
      resets_at: nullable(time('When more is free again.')),
    }),
  ),
});

export const listKeys = tool({
  name: 'list_keys',
  title: 'Pool API keys',
  description:
    'Lists the Pool API keys of your Pools: status, expiry, permitted models, reasoning effort and output tokens, and how much of each limit is used ' +
    'now. Use it for "why is key ci refused" and "how much of its limits is left". What a key cost is in usage_summary. Secrets are not shown.',
  input: args({
    id: name('Only the key with this id.'),
    pool: name('Only keys of this Pool (id).'),
    status: oneOf(STATUSES, 'Only keys with this status.'),
    ...PAGE_ARGS,
  }),
  output: object({ keys: list('In configuration order.', KEY_ROW), ...NEXT_CURSOR }),
  async run({ id: named, pool, status, ...page }, view) {
    const found = view.keys.filter(
      (key) =>
        (named === undefined || key.id === named) &&
        (pool === undefined || key.pool === pool) &&
        (status === undefined || statusOf(key, view.now()) === status),
    );
    const { rows, next_cursor } = pageOf(found, page);
    return { keys: await Promise.all(rows.map((key) => shownKey(key, view))), next_cursor };
  },
});

const statusOf = ({ status, expires_at }: KeyConfig, now: number): (typeof STATUSES)[number] =>
  status === 'active' && expires_at !== undefined && now >= expires_at ? 'expired' : status;

export const shownKey = async (key: KeyConfig, view: OperatorView): Promise<ValueOf<typeof KEY_ROW>> => ({
  ...keySettings(key, view.now()),
  limits: (await view.services.accounting.limits(key)).map((limit) => ({
    type: limit.limit_type,
    window: limit.limit_window,
    max: limit.max_value,
    current: limit.current_value,
    remaining: limit.remaining_value,
    resets_at: limit.reset_at === null ? null : isoOrNull(limit.reset_at * 1000),
  })),
});

/** The settings of a key without its limits. @param now Unix milliseconds */
export function keySettings(key: KeyConfig, now: number): Omit<ValueOf<typeof KEY_ROW>, 'limits'> {
  const { reasoning_effort: effort } = key;
  return {
    id: key.id,
    pool: key.pool,
    status: statusOf(key, now),
    expires_at: isoOrNull(key.expires_at),
    models: key.models ?? null,
    reasoning_effort: effort
      ? 'always' in effort
        ? { mode: 'always', effort: effort.always }
        : { mode: 'allow_up_to', effort: effort.allow_up_to }
      : null,
    max_output_tokens: key.output_tokens?.max ?? null,
  };
}
