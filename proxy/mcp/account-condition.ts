// The condition of an account in one word, and the reason and the end if it gets no turns.
import type { AccountStatus } from '../accounts/capacity.ts';
import { isChallenged } from '../accounts/health/health-status.ts';
import type { QuotaStatus } from '../accounts/quota/quota-status.ts';
import { TURNS_PATH } from '../accounts/scope.ts';
import type { AccountCatalogStatus } from '../models/catalog/account-catalog.ts';
import type { AccountConfig } from '../turn/settings.ts';

export const CONDITIONS = [
  'available',
  'at_max_concurrent',
  'out_of_quota',
  'reserved',
  'cooldown',
  'probing',
  'challenge_page',
  'no_models',
  'reauth_required',
  'paused',
  'invisible',
] as const;

/** The meanings of the words, for descriptions. */
export const CONDITION_TEXT =
  'available: takes turns. at_max_concurrent: as many turns run there as max_concurrent permits. out_of_quota: its provider refuses turns until ' +
  'a quota window resets. reserved: what is left of its quota is kept for its owner. cooldown: a pause after failures or a rate limit. probing: ' +
  'one turn decides whether it is healthy again. challenge_page: a guard of the network answers its turns with a page, so they wait; its ' +
  'credential is not refused. no_models: its model list could not be read (cause), so it serves no model. reauth_required: its credential is refused, and an operator must log it in again. paused: ' +
  'an operator has paused it. invisible: switched off by visible: false.';

export interface AccountCondition {
  readonly state: (typeof CONDITIONS)[number];
  /** The end of the condition in Unix milliseconds; undefined if it is not known. */
  readonly until: number | undefined;
  /** The cause of a cooldown, or of a failed read of its model list. */
  readonly cause: string | undefined;
}

/** Whether an account in this state takes turns, at once or after a wait for a running one. */
export const takesTurns = (state: AccountCondition['state']): boolean => TAKES_TURNS.has(state);

const TAKES_TURNS: ReadonlySet<AccountCondition['state']> = new Set(['available', 'at_max_concurrent', 'probing']);

/** The states of all accounts. They are read once for all rows. */
export interface AccountStatuses {
  of(account: string): readonly [AccountStatus | undefined, QuotaStatus | undefined, AccountCatalogStatus | undefined];
}

interface StatusSources {
  readonly capacity: { status(): { readonly accounts: readonly AccountStatus[] } };
  readonly catalog: { readonly accounts: { status(): readonly AccountCatalogStatus[] } };
  readonly usage: { readonly quota: { status(): readonly QuotaStatus[] } };
}

export function statusesOf({ capacity, usage, catalog }: StatusSources): AccountStatuses {
  const health = new Map(capacity.status().accounts.map((status) => [status.account, status]));
  const quota = new Map(usage.quota.status().map((status) => [status.account, status]));
  const catalogs = new Map(catalog.accounts.status().map((status) => [status.account, status]));
  return { of: (account) => [health.get(account), quota.get(account), catalogs.get(account)] };
}

/** The conditions of these accounts by their ids. */
export function conditionsOf(accounts: readonly AccountConfig[], sources: StatusSources): ReadonlyMap<string, AccountCondition> {
  const statuses = statusesOf(sources);
  return new Map(accounts.map((account) => [account.id, conditionOf(account, ...statuses.of(account.id))]));
}

/** The condition of the whole account. In addition, single models may be in cooldown. */
export function conditionOf(
  { visible, paused, max_concurrent }: AccountConfig,
  health: AccountStatus | undefined,
  quota: QuotaStatus | undefined,
  catalog: Pick<AccountCatalogStatus, 'models' | 'failure'> | undefined,
): AccountCondition {
  const cooldown = health?.cooldown;
  const ends = [cooldown?.until, quota?.status === 'exhausted' ? quota.until : undefined].filter((end) => typeof end === 'number');
  const quotaEnd = ends.length > 0 ? Math.max(...ends) : undefined;
  if (!visible) return condition('invisible');
  if (paused) return condition('paused');
  if (health?.status === 'reauth_required') return condition('reauth_required');
  if (quota?.status === 'exhausted' || (cooldown?.phase === 'cooling' && cooldown.cause === 'quota'))
    return condition('out_of_quota', quotaEnd);
  if (cooldown?.phase === 'cooling') return condition('cooldown', cooldown.until, cooldown.cause);
  if (cooldown) return condition('probing', undefined, cooldown.cause);
  if (health && isChallenged(health)) return condition('challenge_page', health.models[TURNS_PATH]?.until, 'challenge_page');
  if (catalog?.failure !== undefined && catalog.models === 0) return condition('no_models', undefined, catalog.failure);
  if (quota?.status === 'reserved') return condition('reserved', quota.until ?? undefined);
  return condition((health?.inFlight ?? 0) >= max_concurrent ? 'at_max_concurrent' : 'available');
}

const condition = (state: AccountCondition['state'], until?: number, cause?: string): AccountCondition => ({ state, until, cause });
