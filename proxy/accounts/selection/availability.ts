// Why an account can or cannot take a turn now: a closed list, which is also what a turn's row counts of the accounts it did not get.
import type { Health } from '../health/health.ts';
import type { AccountLoad } from './account-load.ts';

/** In the order in which they are told: the first that holds. */
export const AVAILABILITIES = ['open', 'reauth_required', 'cooldown', 'probing', 'out_of_quota', 'reserved', 'at_max_concurrent'] as const;

export type Availability = (typeof AVAILABILITIES)[number];

/** @param scope the exposed model id, or a route's own word */
export function availabilityOf(seat: AccountLoad, health: Pick<Health, 'standing'>, scope: string): Availability {
  const standing = health.standing(seat.id, scope);
  if (standing === 'quota' || (standing === 'open' && seat.spent)) return 'out_of_quota';
  if (standing !== 'open') return standing;
  if (seat.reserved) return 'reserved';
  return seat.inFlight < seat.capacity ? 'open' : 'at_max_concurrent';
}
