// Leases implemented by transactions, for every engine.
import { type Driver, type Guard, increment } from '../driver.ts';
import type { Lease, LeaseVerbs } from './lease-verbs.ts';

/**
 * A lease that expires more than this after a lease taken now would was taken before the clock was set back. It counts as expired, and its
 * token fences later writes of its owner.
 */
export const PUT_BACK_MS = 60_000;

const HELD = 'SELECT token FROM leases WHERE name = $1 AND expires_at > $2 AND expires_at <= $3';
const held = (name: string, now: number, ttlMs: number): readonly [string, number, number] => [name, now, now + ttlMs + PUT_BACK_MS];

/** A guard that holds while the lease does. */
export const heldBy = ({ name, token }: Lease, now: number): Guard => ({
  sql: 'SELECT token FROM leases WHERE name = $1 AND token = $2 AND expires_at > $3',
  values: [name, token, now],
});

export function leaseVerbs({ query, transaction }: Pick<Driver, 'query' | 'transaction'>, clock: () => number): LeaseVerbs {
  return {
    async acquire(name, owner, ttlMs) {
      // If another owner has the lease, this costs a read and no write.
      if ((await query(HELD, held(name, clock(), ttlMs))).length > 0) return undefined;
      return transaction(async (session) => {
        const token = await increment(session, 'lease_token');
        const now = clock();
        if ((await session.query(HELD, held(name, now, ttlMs))).length > 0) return undefined;
        const expires_at = now + ttlMs;
        await session.run('DELETE FROM leases WHERE name = $1', [name]);
        await session.run('INSERT INTO leases (name, owner, token, expires_at) VALUES ($1, $2, $3, $4)', [name, owner, token, expires_at]);
        return { name, owner, token, expires_at };
      });
    },
    async renew(lease, ttlMs) {
      const now = clock();
      const expires_at = now + ttlMs;
      const sql = 'UPDATE leases SET expires_at = $1 WHERE name = $2 AND token = $3 AND expires_at > $4';
      const renewed = await transaction((session) => session.run(sql, [expires_at, lease.name, lease.token, now]));
      return renewed === 1 ? { ...lease, expires_at } : undefined;
    },
    async release({ name, token }) {
      await transaction((session) => session.run('DELETE FROM leases WHERE name = $1 AND token = $2', [name, token]));
    },
  };
}
