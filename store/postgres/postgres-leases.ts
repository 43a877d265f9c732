// Leases in one statement each. A token comes from a sequence. A released lease stays as an expired row until it is purged.
import type { LeaseVerbs } from '../verbs/lease-verbs.ts';
import { PUT_BACK_MS } from '../verbs/leases.ts';
import type { PostgresConnections } from './connection/postgres-connections.ts';

/**
 * Takes a lease, unless another owner has it: that case costs a read and no write. If another process took it meanwhile, a new token is
 * drawn, so that it is the greatest.
 */
const ACQUIRE = `
  INSERT INTO leases (name, owner, token, expires_at)
  SELECT $1::text, $2::text, nextval('lease_tokens'), $3::bigint
  WHERE NOT EXISTS (SELECT 1 FROM leases WHERE name = $4 AND expires_at > $5 AND expires_at <= $6)
  ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = nextval('lease_tokens'), expires_at = excluded.expires_at
  WHERE leases.expires_at <= $7 OR leases.expires_at > $8
  RETURNING token
`;
const RENEW = 'UPDATE leases SET expires_at = $1 WHERE name = $2 AND token = $3 AND expires_at > $4';
const RELEASE = 'UPDATE leases SET expires_at = 0 WHERE name = $1 AND token = $2';

/** @param now Unix milliseconds by the database's clock; callers get expiry times by their own clock */
export function leasesOf(connections: PostgresConnections, clock: () => number, now: () => number): LeaseVerbs {
  return {
    async acquire(name, owner, ttlMs) {
      const expires_at = clock() + ttlMs;
      const at = now();
      const latest = at + ttlMs + PUT_BACK_MS;
      const values = [name, owner, at + ttlMs, name, at, latest, at, latest];
      const rows = await connections.use((connection) => connection.query(ACQUIRE, values));
      return rows[0] && { name, owner, token: Number(rows[0].token), expires_at };
    },
    async renew(lease, ttlMs) {
      const expires_at = clock() + ttlMs;
      const at = now();
      const renewed = await connections.use((connection) => connection.run(RENEW, [at + ttlMs, lease.name, lease.token, at]));
      return renewed === 1 ? { ...lease, expires_at } : undefined;
    },
    async release({ name, token }) {
      await connections.use((connection) => connection.run(RELEASE, [name, token]));
    },
  };
}
