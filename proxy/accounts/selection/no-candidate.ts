// What a turn is told that no account can take: all are out of quota, or none is routable (Q2).
import { Refusal } from '../../turn/refusal.ts';
import type { Health } from '../health/health.ts';
import type { AccountLoad } from './account-load.ts';
import type { Availability } from './availability.ts';
import type { QuotaView } from './quota-view.ts';

/** An account of the turn's Pool and model, with what keeps it from taking the turn. */
export interface Closed {
  readonly seat: AccountLoad;
  readonly standing: Availability;
}

export interface UnplacedOptions {
  readonly health: Pick<Health, 'until'>;
  readonly quota: QuotaView;
  readonly scope: string;
  readonly now: number;
}

/**
 * An account that only cools down is back before a quota is: its turn is worth another try, so it is not `usage_limit_reached` then.
 * One that needs re-authentication is nothing to wait for.
 */
export function unplaced(closed: readonly Closed[], { health, quota, scope, now }: UnplacedOptions): Refusal {
  const cooldowns = closed.filter(({ standing }) => standing === 'cooldown' || standing === 'probing');
  const spent = closed.filter(({ standing }) => standing === 'out_of_quota' || standing === 'reserved');
  const resets = spent.flatMap(({ seat }) => resetOf(seat) ?? []);
  const backAt = Math.min(...cooldowns.map(({ seat }) => health.until(seat.id, scope) ?? now));
  const resetAt = Math.min(...resets);
  if (spent.length > 0 && !(backAt < resetAt)) {
    const known = Number.isFinite(resetAt);
    return new Refusal('usage_limit_reached', known ? { resetsAt: Math.ceil(resetAt / 1000), retryAfterMs: resetAt - now } : {});
  }
  return new Refusal('no_eligible_account', Number.isFinite(backAt) ? { retryAfterMs: backAt - now } : {});

  /** By the account's own statement, or by the quota windows; whichever holds longer. */
  function resetOf({ id, reserved }: AccountLoad): number | undefined {
    const stated = health.until(id, scope);
    const window = (quota.exhausted(id, now) ?? reserved)?.until;
    return stated === undefined ? window : Math.max(stated, window ?? 0);
  }
}
