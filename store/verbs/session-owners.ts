// The owners of sessions: which process has the turns that a native client may come back for, until its lease expires (Q34).
import type { DatabaseRecord, Driver, Value } from '../driver.ts';
import { PUT_BACK_MS } from './leases.ts';

export interface SessionOwner {
  /** The node id and a random part of the process. */
  readonly owner: string;
  /** The URL of its internal listener. */
  readonly address: string;
  /** Another one each time that the session gets an owner. */
  readonly lease: string;
}

export interface SessionClaim extends SessionOwner {
  /** A keyed digest: the store has no name of a session. */
  readonly session: string;
  readonly ttlMs: number;
  /** The lease of an owner that does not answer: it is replaced although it has not expired. */
  readonly instead?: string | undefined;
}

export interface SessionOwnerVerbs {
  /**
   * Makes the claimant the owner if no other node has a lease that has not expired, and renews the lease of an owner. Resolves with the
   * owner: the claimant with the lease that it has now, or another one.
   */
  claim(claim: SessionClaim): Promise<SessionOwner>;
  /** Renews every lease of the owner, also expired ones that no other owner has taken. Resolves with the sessions that it still has. */
  renew(owner: string, ttlMs: number): Promise<ReadonlySet<string>>;
  /** Gives these sessions up. */
  release(owner: string, sessions: readonly string[]): Promise<void>;
  /** Gives all sessions up: the process ends. */
  releaseAll(owner: string): Promise<void>;
}

const CLAIM = `
  INSERT INTO session_owners (session, owner, address, lease, expires_at) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (session) DO UPDATE SET
    lease = CASE WHEN session_owners.owner = excluded.owner THEN session_owners.lease ELSE excluded.lease END,
    owner = excluded.owner, address = excluded.address, expires_at = excluded.expires_at
  WHERE session_owners.owner = excluded.owner OR session_owners.expires_at <= $6 OR session_owners.lease = $7
    OR session_owners.expires_at > $8
  RETURNING owner, address, lease`;

const FIND = 'SELECT owner, address, lease FROM session_owners WHERE session = $1';

/** Parameters of one statement. */
const RELEASED_AT_ONCE = 500;

/** A lease that expired so long ago belongs to no process that lives. */
export const OWNERS_KEPT_MS = 3_600_000;

export function sessionOwnerVerbs(driver: Driver): SessionOwnerVerbs {
  // One statement is atomic in PostgreSQL by itself, and takes one round trip; SQLite writes on another connection than it reads.
  const change = (sql: string, values: readonly Value[]): Promise<readonly DatabaseRecord[]> =>
    driver.shared ? driver.query(sql, values) : driver.transaction((session) => session.query(sql, values));
  return {
    async claim({ session, owner, address, lease, ttlMs, instead = null }) {
      for (;;) {
        const now = driver.now();
        const [made] = await change(CLAIM, [session, owner, address, lease, now + ttlMs, now, instead, now + ttlMs + PUT_BACK_MS]);
        const [found] = made ? [made] : await driver.query(FIND, [session]);
        // The other owner may have given it up between the two statements.
        if (found) return { owner: String(found.owner), address: String(found.address), lease: String(found.lease) };
      }
    },
    async renew(owner, ttlMs) {
      const sql = 'UPDATE session_owners SET expires_at = $1 WHERE owner = $2 RETURNING session';
      return new Set((await change(sql, [driver.now() + ttlMs, owner])).map(({ session }) => String(session)));
    },
    async release(owner, sessions) {
      for (let from = 0; from < sessions.length; from += RELEASED_AT_ONCE) {
        const some = sessions.slice(from, from + RELEASED_AT_ONCE);
        const places = some.map((_, i) => `$${i + 2}`).join(', ');
        await change(`DELETE FROM session_owners WHERE owner = $1 AND session IN (${places})`, [owner, ...some]);
      }
    },
    async releaseAll(owner) {
      await change('DELETE FROM session_owners WHERE owner = $1', [owner]);
    },
  };
}
