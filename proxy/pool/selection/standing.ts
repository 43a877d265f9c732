// Why an account can or cannot take a turn now: a closed list, which is also what a turn's row counts of the accounts it did not get.
import type { Health } from '../health/health.ts';
import type { Seat } from './seats.ts';

/** In the order in which they are told: the first that holds. */
export const STANDINGS = ['open', 'reauth_required', 'cooldown', 'probing', 'out_of_quota', 'reserved', 'at_max_concurrent'] as const;

export type Standing = (typeof STANDINGS)[number];

/** @param scope the exposed model id, or a route's own word */
export function standingOf(seat: Seat, health: Pick<Health, 'standing'>, scope: string): Standing {
  const standing = health.standing(seat.id, scope);
  if (standing === 'quota' || (standing === 'open' && seat.spent)) return 'out_of_quota';
  if (standing !== 'open') return standing;
  if (seat.reserved) return 'reserved';
  return seat.inFlight < seat.capacity ? 'open' : 'at_max_concurrent';
}
