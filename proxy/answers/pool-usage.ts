// `GET /api/agent/usage`, `/meter/usage` and `/backend-api/meter/usage`: the Pool's quota windows, from evidence (C4, Q20).

import type { Quota } from '../accounts/quota/quota.ts';
import { classOf, fullest, type WindowClass } from '../accounts/quota/quota-window.ts';
import type { QuotaWindow } from '../turn/provider/quota-statement.ts';
import type { Answer } from '../turn/reply/turn-result.ts';
import type { PoolConfig } from '../turn/settings.ts';
import type { AnswerHandler } from './answer-handler.ts';

export interface PoolUsageOptions {
  readonly quota: Pick<Quota, 'windows' | 'exhausted' | 'reserved'>;
  /** Resolves when the first usage reads of the accounts have ended, or their deadline has passed. */
  readonly known: (accounts: readonly string[]) => Promise<void>;
  /** The accounts of the Pool that are routable now (UA1). */
  readonly routable: (pool: PoolConfig) => readonly string[];
}

/** Integers only: native clients read nothing else. */
interface PoolWindow {
  readonly used_percent: number;
  readonly limit_window_seconds: number;
  readonly reset_after_seconds: number;
  /** Unix seconds. */
  readonly reset_at: number;
}

export function poolUsageAnswers({ quota, known, routable }: PoolUsageOptions): AnswerHandler {
  return async (turn): Promise<Answer> => {
    const accounts = routable(turn.pool);
    await known(accounts);
    const now = turn.now();
    const taking = accounts.filter((account) => !quota.exhausted(account, now) && !quota.reserved(account, now));
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

/** The mean over the fullest window of the class of each account; null where no account has one. */
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

/** A window without a stated reset ends no later than one that begins now. */
const resetOf = ({ resetsAt, seconds }: QuotaWindow, now: number): number => resetsAt ?? now + seconds;
