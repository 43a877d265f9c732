// The owners of sessions: which process holds the turns that a native client may come back for, until its lease expires (Q34).
import type { DatabaseRecord, Driver, Value } from '../driver.ts';
import { PUT_BACK_MS } from './leases.ts';

export interface SessionOwner {
  /** The node id and a random part of the process. */
  readonly owner: string;
  /** The URL of its internal listener. */
  readonly address: string;
  /** The id of the lease; a new one each time the session gets an owner. */
  readonly lease: string;
}

export interface SessionClaim extends SessionOwner {
  /** A keyed digest, so that the store has no name of a session. */
  readonly session: string;
  readonly ttlMs: number;
  /** The lease of an owner that does not answer. It is replaced although it has not expired. */
  readonly instead?: string | undefined;
}

export interface SessionOwnerVerbs {
  /**
   * Makes the claimant the owner if no other node has an unexpired lease, and renews the lease of a claimant that is the owner already.
   * Resolves with the owner: the claimant with its current lease, or another process.
   */
  claim(claim: SessionClaim): Promise<SessionOwner>;
  /**
   * Renews every lease of the owner, including expired ones that no other owner has taken. Resolves with the sessions that the owner still
   * has.
   */
  renew(owner: string, ttlMs: number): Promise<ReadonlySet<string>>;
  /** Gives up these sessions. */
  release(owner: string, sessions: readonly string[]): Promise<void>;
  /** Gives up all sessions, because the process ends. */
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

/** The most sessions in one statement, which bounds its parameters. */
const RELEASED_AT_ONCE = 500;

/** No running process still has a lease that expired this long ago. */
export const OWNERS_KEPT_MS = 3_600_000;

export function sessionOwnerVerbs(driver: Driver): SessionOwnerVerbs {
  // In PostgreSQL one statement is atomic and takes one round trip. SQLite needs a transaction, because it writes on another connection
  // than it reads.
  const change = (sql: string, values: readonly Value[]): Promise<readonly DatabaseRecord[]> =>
    driver.shared ? driver.query(sql, values) : driver.transaction((session) => session.query(sql, values));
  return {
    async claim({ session, owner, address, lease, ttlMs, instead = null }) {
      for (;;) {
        const now = driver.now();
        const [made] = await change(CLAIM, [session, owner, address, lease, now + ttlMs, now, instead, now + ttlMs + PUT_BACK_MS]);
        const [found] = made ? [made] : await driver.query(FIND, [session]);
        // If no row is found, the other owner gave the session up between the two statements.
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
