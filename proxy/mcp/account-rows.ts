// Accounts in the form that tools return: their API, state, load and quota. Addresses, `query` and `headers` are never among them (AA84).
import type { QuotaStatus } from '../accounts/quota/quota-status.ts';
import { flag, integer, list, nullable, number, object, oneOf, text, time, type ValueOf } from '../turn/json/field-schemas.ts';
import { isApiAccount, presetName } from '../turn/provider/api-account.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { type AccountCondition, type AccountStatuses, CONDITION_TEXT, CONDITIONS } from './account-condition.ts';
import type { OperatorView } from './operator-view.ts';
import { usedUpAt } from './quota-forecast.ts';
import { iso, isoOrNull } from './times.ts';

const WINDOW = object({
  class: oneOf(['primary', 'secondary'], 'primary: up to a day; secondary: longer.'),
  length_seconds: number('Length of the window.'),
  used_percent: number('Percent of the window that is used; 100 is exhausted.'),
  resets_at: nullable(time('When it resets.')),
  stated_at: nullable(time('When the provider stated this.')),
  used_up_at: nullable(
    time('When it would be used up at its mean rate since it began; null where it lasts until its reset, or too little is known.'),
  ),
});

export const ACCOUNT_ROW = object({
  id: text('Id of the account.'),
  label: text('Its label, under which requests are logged.'),
  api: oneOf(['agent', 'responses', 'chat'], 'The API that it speaks: of agent backends, Responses, or Chat Completions.'),
  preset: nullable(text('The known kind of server that it is; null for none.')),
  serves: list(
    'What an account of the Responses or Chat API answers; empty for agent accounts, which answer all.',
    text('What it answers.'),
  ),
  state: oneOf(CONDITIONS, `Whether it takes turns now. ${CONDITION_TEXT}`),
  until: nullable(time('When the state ends; null if it does not end by itself, or that is not known.')),
  cause: nullable(text('Of a cooldown or probe: what failed, such as rate, status, network, connect.')),
  models_in_cooldown: list(
    'Models that the account does not serve for now, while it serves others.',
    object({
      model: text('Exposed model id; in parentheses a path, which all its models share.'),
      cause: nullable(text('What failed.')),
      until: nullable(time('When the next turn may probe it.')),
    }),
  ),
  compaction: object(
    {
      way: oneOf(
        ['route', 'trigger', 'summary', 'none'],
        'route: on its compact path; trigger: as a turn whose last input item is a compaction_trigger; summary: as a turn that asks for a summary; none: not at all.',
      ),
      path_missing_since: nullable(
        time('When it answered that it has no compact path, after which it gets triggers; null where it was not asked.'),
      ),
    },
    'How conversations are compacted there.',
  ),
  in_flight: integer('Turns of your Pools that run there now.'),
  max_concurrent: integer('Turns that may run there at the same time.'),
  quota: object(
    {
      status: oneOf(
        ['available', 'reserved', 'exhausted', 'unknown'],
        'unknown: nothing was stated in the last 15 minutes; such an account is used.',
      ),
      until: nullable(time('When an exhausted or reserved account is usable again.')),
      windows: list('What its provider stated.', WINDOW),
    },
    "The provider's limits of this account.",
  ),
  rates: object(
    {
      requests: nullable(number('Of requests.')),
      tokens: nullable(number('Of tokens.')),
    },
    'The smallest share that is left of the rate limits that it stated lately for its models, 0 to 1; null where it stated none.',
  ),
  reserve_percent: number('Percent of its quota that is kept for its owner.'),
  visible: flag('false: it is switched off.'),
  last_failure: nullable(
    object({ cause: text('What failed, such as rate, status, network.'), at: time('When.') }, 'The last failed attempt since the start.'),
  ),
  pools: list(
    'The Pools of yours that it is assigned to.',
    object({
      pool: text('Id of the Pool.'),
      active: flag('false: treated as not assigned.'),
      eligible: flag('false: never chosen.'),
      weight: number('Share of turns relative to the others.'),
      tier: integer('0 to 9; a higher tier is asked where the lower ones cannot take a turn.'),
    }),
  ),
  catalog: object(
    {
      models: integer('Number of models that it lists.'),
      read_at: nullable(time('When its list was read last.')),
      stale: flag('Whether the last read failed or did not happen yet.'),
      failure: nullable(
        text(
          'Why the last read failed: challenge_page (a guard of the network), client_version (see wire.client_version), credential, status, ' +
            'malformed, timeout, network.',
        ),
      ),
    },
    'Its model list.',
  ),
});

export function shownAccount(
  account: AccountConfig,
  { state, until, cause }: AccountCondition,
  states: AccountStatuses,
  view: OperatorView,
): ValueOf<typeof ACCOUNT_ROW> {
  const { capacity, usage } = view.services;
  const [health, quota, catalog] = states.of(account.id);
  return {
    id: account.id,
    label: account.label,
    api: account.api,
    preset: presetName(account) ?? null,
    serves: isApiAccount(account) ? [...account.serves] : [],
    state,
    until: isoOrNull(until),
    cause: cause ?? null,
    models_in_cooldown: Object.entries(health?.models ?? {}).map(([model, own]) => ({
      model,
      cause: own.cause ?? null,
      until: isoOrNull(own.until),
    })),
    compaction: { way: health?.compaction.way ?? 'route', path_missing_since: isoOrNull(health?.compaction.missingSince) },
    in_flight: capacity.selection.candidates.inFlight(account.id, view.poolIds),
    max_concurrent: account.max_concurrent,
    quota: shownQuota(quota),
    rates: { requests: null, tokens: null, ...usage.quota.rates(account.id)?.smallest },
    reserve_percent: account.reserve_percent,
    visible: account.visible,
    last_failure: health?.lastFailure ? { cause: health.lastFailure.cause, at: iso(health.lastFailure.at) } : null,
    pools: view.assignmentsOf(account.id).map(({ pool, active, eligible, weight, tier }) => ({ pool, active, eligible, weight, tier })),
    catalog: {
      models: catalog?.models ?? 0,
      read_at: isoOrNull(catalog?.readAt),
      stale: catalog?.stale ?? true,
      failure: catalog?.failure ?? null,
    },
  };
}

function shownQuota(quota: QuotaStatus | undefined): ValueOf<typeof ACCOUNT_ROW>['quota'] {
  if (!quota) return { status: 'unknown', until: null, windows: [] };
  return {
    status: quota.status,
    until: isoOrNull(quota.until),
    windows: quota.windows.map((window) => ({
      class: window.class,
      length_seconds: window.seconds,
      used_percent: window.used_percent,
      resets_at: window.resets_at === null ? null : isoOrNull(window.resets_at * 1000),
      stated_at: isoOrNull(window.stated_at),
      used_up_at: isoOrNull(usedUpAt(window)),
    })),
  };
}
