// The metrics of accounts: state, cooldown, attempts in flight, quota; and how many of a Pool take turns.
import type { AccountStatus } from '../../accounts/capacity.ts';
import { isChallenged } from '../../accounts/health/health-status.ts';
import { conditionsOf, takesTurns } from '../../mcp/account-condition.ts';
import type { AdminTarget } from '../admin-target.ts';
import { unlistedAccounts } from '../replies/unlisted-accounts.ts';
import type { Metric, Sample } from './metrics-page.ts';

const STATES = ['active', 'failing', 'challenge_page', 'no_models', 'reauth_required', 'paused', 'hidden'] as const;

export function accountMetrics(gateway: AdminTarget): readonly Metric[] {
  const { capacity, catalog, usage } = gateway.services;
  const accounts = (): readonly AccountStatus[] => capacity.status().accounts;
  const configured = () => gateway.loaded.config.accounts;
  const perAccount = (value: (status: AccountStatus) => number) => (): readonly Sample[] =>
    accounts().map((status) => ({ labels: { account: status.account }, value: value(status) }));
  const perWindow = (value: (window: Window) => number | null) => (): readonly Sample[] =>
    usage.quota.status().flatMap(({ account, windows }) =>
      windows.flatMap((window) => {
        const sample = value(window);
        return sample === null ? [] : { labels: { account, window: window.class }, value: sample };
      }),
    );
  return [
    {
      name: 'account_state',
      type: 'gauge',
      help: `The state of each account: 1 for the one of ${STATES.join(', ')} that it is in`,
      labels: ['account', 'state'],
      samples: () => {
        const settings = new Map(configured().map((account) => [account.id, account]));
        const unlisted = unlistedAccounts(catalog.accounts.status());
        return accounts().flatMap(({ account, status: health, models }) => {
          const { paused = false, visible = true } = settings.get(account) ?? {};
          const served = isChallenged({ models }) ? 'challenge_page' : unlisted.has(account) ? 'no_models' : 'active';
          const status = health === 'active' ? served : health;
          const current = paused ? 'paused' : visible ? status : 'hidden';
          return STATES.map((state) => ({ labels: { account, state }, value: state === current ? 1 : 0 }));
        });
      },
    },
    {
      name: 'account_model_list_failed',
      type: 'gauge',
      help: 'Accounts whose model list could not be read the last time, with the cause',
      labels: ['account', 'cause'],
      samples: () =>
        catalog.accounts.status().flatMap(({ account, failure }) => (failure ? { labels: { account, cause: failure }, value: 1 } : [])),
    },
    {
      name: 'account_cooldown_seconds',
      type: 'gauge',
      help: 'Time to the end of the cooldown of an account; 0 without one',
      labels: ['account'],
      samples: perAccount(({ cooldown }) => (cooldown?.until === undefined ? 0 : Math.max(0, (cooldown.until - gateway.now()) / 1000))),
    },
    {
      name: 'account_models_cooling',
      type: 'gauge',
      help: 'Models for which an account is in a cooldown of their own',
      labels: ['account'],
      samples: perAccount(({ models }) => Object.keys(models).length),
    },
    {
      name: 'account_in_flight',
      type: 'gauge',
      help: 'Attempts in flight at an account',
      labels: ['account'],
      samples: perAccount(({ inFlight }) => inFlight),
    },
    {
      name: 'account_in_flight_limit',
      type: 'gauge',
      help: 'max_concurrent of an account',
      labels: ['account'],
      samples: () => configured().map(({ id, max_concurrent }) => ({ labels: { account: id }, value: max_concurrent })),
    },
    {
      name: 'account_quota_exhausted',
      type: 'gauge',
      help: 'Whether an account is out of quota',
      labels: ['account'],
      samples: () => usage.quota.status().map(({ account, status }) => ({ labels: { account }, value: status === 'exhausted' ? 1 : 0 })),
    },
    {
      name: 'account_quota_used_ratio',
      type: 'gauge',
      help: 'The used share of a quota window of an account, 0 to 1',
      labels: ['account', 'window'],
      samples: perWindow(({ used_percent }) => used_percent / 100),
    },
    {
      name: 'account_quota_reset_time_seconds',
      type: 'gauge',
      help: 'When a quota window of an account resets, Unix seconds',
      labels: ['account', 'window'],
      samples: perWindow(({ resets_at }) => resets_at),
    },
    {
      name: 'pool_accounts_available',
      type: 'gauge',
      help: 'Accounts of a Pool that take turns, also those at max_concurrent',
      labels: ['pool'],
      samples: () => {
        const { accounts: all, pools } = gateway.loaded.config;
        const conditions = conditionsOf(all, gateway.services);
        const takes = (account: string): boolean => takesTurns(conditions.get(account)?.state ?? 'invisible');
        return pools.map(({ id, assignments }) => ({
          labels: { pool: id },
          value: assignments.filter(({ account, active, eligible }) => active && eligible && takes(account)).length,
        }));
      },
    },
    {
      name: 'rate_remaining_ratio',
      type: 'gauge',
      help: 'The smallest share that is left of the rate limits that an account has stated lately for its models, 0 to 1',
      labels: ['account', 'kind'],
      samples: () =>
        configured().flatMap(({ id }) =>
          Object.entries(usage.quota.rates(id)?.smallest ?? {}).map(([kind, value]) => ({ labels: { account: id, kind }, value })),
        ),
    },
  ];
}

type Window = ReturnType<AdminTarget['services']['usage']['quota']['status']>[number]['windows'][number];
