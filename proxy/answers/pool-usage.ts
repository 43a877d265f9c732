// `GET /api/agent/usage`, `/meter/usage` and `/backend-api/meter/usage`: the quota windows of the Pool, computed from those of its accounts
// (C4, Q20).
import type { Health } from '../accounts/health/health.ts';
import type { Quota } from '../accounts/quota/quota.ts';
import { classOf, fullest, type QuotaWindow, type WindowClass } from '../turn/provider/quota-statement.ts';
import type { AccountConfig, PoolConfig } from '../turn/settings.ts';
import type { Answer } from '../turn/surface.ts';
import type { AnswerHandler } from './answer-handler.ts';

export interface PoolUsageServices {
  readonly capacity: { readonly health: Pick<Health, 'routable'> };
  readonly loaded: () => { readonly config: { readonly accounts: readonly AccountConfig[] } };
  readonly usage: {
    readonly quota: Pick<Quota, 'stateAt' | 'windows'>;
    /** `firstReads` resolves when the first usage reads of the accounts have ended, or their deadline has passed. */
    readonly reads: { firstReads(accounts: readonly string[]): Promise<void> };
  };
}

/** A window of the Pool. Native clients read only integers. */
interface PoolWindow {
  readonly used_percent: number;
  readonly limit_window_seconds: number;
  readonly reset_after_seconds: number;
  /** Unix seconds. */
  readonly reset_at: number;
}

export function poolUsageAnswers(services: PoolUsageServices): AnswerHandler {
  const { quota, reads } = services.usage;
  return async (turn): Promise<Answer> => {
    const accounts = routableAccounts(turn.pool, services);
    await reads.firstReads(accounts);
    const now = turn.now();
    const taking = accounts.filter((account) => {
      const state = quota.stateAt(account, now);
      return !state?.exhausted && !state?.reserved;
    });
    const windows = accounts.map((account) => quota.windows(account));
    const body = {
      plan_type: 'pool',
      rate_limit: {
        allowed: taking.length > 0,
        limit_reached: accounts.length > 0 && taking.length === 0,
        primary_window: windowOf('primary', windows, now),
        secondary_window: windowOf('secondary', windows, now),
      },
    };
    return { status: 200, headers: { 'cache-control': 'no-store' }, body: JSON.stringify(body) };
  };
}

/** The accounts of the Pool that are routable now (UA1). */
function routableAccounts({ assignments }: PoolConfig, { capacity, loaded }: PoolUsageServices): readonly string[] {
  const visible = new Set(loaded().config.accounts.flatMap(({ id, visible: isVisible }) => (isVisible ? id : [])));
  return assignments.flatMap(({ account, active, eligible }) =>
    active && eligible && visible.has(account) && capacity.health.routable(account, '(pool-usage)') ? account : [],
  );
}

/** The mean over the accounts, of which each counts with its fullest window of the class. Null if no account has such a window. */
function windowOf(which: WindowClass, accounts: readonly (readonly QuotaWindow[])[], now: number): PoolWindow | null {
  const windows = accounts.flatMap((own) => fullest(own.filter((window) => classOf(window) === which)) ?? []);
  const [first] = windows;
  if (!first) return null;
  const mean = windows.reduce((sum, { used }) => sum + used, 0) / windows.length;
  const seconds = now / 1000;
  const soonest = windows.reduce((best, window) => (resetOf(window, seconds) < resetOf(best, seconds) ? window : best), first);
  const reset = Math.ceil(resetOf(soonest, seconds));
  return {
    used_percent: Math.floor(mean + 0.5),
    limit_window_seconds: soonest.seconds,
    reset_after_seconds: Math.max(0, Math.ceil(reset - seconds)),
    reset_at: reset,
  };
}

/** The reset of a window. If none is stated, it is the latest possible one, as if the window began now. */
const resetOf = ({ resetsAt, seconds }: QuotaWindow, now: number): number => resetsAt ?? now + seconds;
