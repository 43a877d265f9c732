// The nodes on the database: each has a lease on its name, with a token that fences what it writes, and tells the others where and what it is.
import { type DatabaseRecord, type Driver, increment } from './driver.ts';

/** A node as the others see it. Times are Unix milliseconds. */
export interface NodeRow {
  readonly id: string;
  /** Greater than that of every earlier lease: what the node holds counts while the lease of this token has not expired. */
  readonly token: number;
  /** How other nodes reach its internal listener; null for a node without one. */
  readonly address: string | null;
  /** Of the program. */
  readonly version: string;
  readonly config_digest: string;
  readonly started_at: number;
  readonly expires_at: number;
}

export type NewNode = Omit<NodeRow, 'token' | 'expires_at'>;

export type Joined = { readonly joined: NodeRow } | { readonly taken: NodeRow };

export interface NodeVerbs {
  /**
   * Takes a lease on the node's name. Where another process has one that has not expired: its row, and nothing changes.
   * @param former the token of this process's own lost lease: what running turns reserved under it counts again, under the new one
   */
  join(node: NewNode, ttlMs: number, former?: number): Promise<Joined>;
  /** When the lease now expires; undefined where it was lost: it had expired, or another process has the name. */
  renew(node: Pick<NodeRow, 'id' | 'token' | 'config_digest'>, ttlMs: number): Promise<number | undefined>;
  /** Ends the lease: what the node held is free. */
  leave(token: number): Promise<void>;
  /** The nodes whose lease has not expired, by name. */
  list(): Promise<readonly NodeRow[]>;
  /** Also those that ended without leaving, for a day. */
  known(): Promise<readonly NodeRow[]>;
}

/** How long a node that ended without leaving is remembered. */
export const DEAD_NODES_KEPT_MS = 86_400_000;

const COLUMNS = 'id, token, address, version, config_digest, started_at, expires_at';

/** @param clock Unix milliseconds of this process: leases are compared by the clock that all nodes share */
export function nodeVerbs(driver: Driver, clock: () => number): NodeVerbs {
  const ahead = (): number => driver.now() - clock();
  const select = async (since: number): Promise<readonly NodeRow[]> => {
    const records = await driver.query(`SELECT ${COLUMNS} FROM nodes WHERE expires_at > $1 ORDER BY id`, [since]);
    return records.map((record) => rowOf(record, ahead()));
  };
  return {
    join: (node, ttlMs, former) =>
      driver.transaction(async (session) => {
        const token = await increment(session, 'lease_token');
        const now = driver.now();
        const [other] = await session.query(`SELECT ${COLUMNS} FROM nodes WHERE id = $1 AND expires_at > $2`, [node.id, now]);
        if (other) return { taken: rowOf(other, ahead()) };
        const { id, address, version, config_digest, started_at } = node;
        const values = [id, token, address, version, config_digest, started_at, now + ttlMs];
        await session.run('DELETE FROM nodes WHERE id = $1', [id]);
        await session.run(`INSERT INTO nodes (${COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)`, values);
        if (former !== undefined) await session.run('UPDATE key_grants SET node = $1 WHERE node = $2', [token, former]);
        return { joined: { ...node, token, expires_at: clock() + ttlMs } };
      }),
    async renew({ id, token, config_digest }, ttlMs) {
      const expires_at = clock() + ttlMs;
      const now = driver.now();
      const sql = 'UPDATE nodes SET expires_at = $1, config_digest = $2 WHERE id = $3 AND token = $4 AND expires_at > $5';
      return (await driver.run(sql, [now + ttlMs, config_digest, id, token, now])) === 1 ? expires_at : undefined;
    },
    async leave(token) {
      await driver.run('DELETE FROM slots WHERE node = $1', [token]);
      await driver.run('DELETE FROM nodes WHERE token = $1', [token]);
    },
    list: () => select(driver.now()),
    known: () => select(driver.now() - DEAD_NODES_KEPT_MS),
  };
}

const rowOf = ({ id, token, address, version, config_digest, started_at, expires_at }: DatabaseRecord, ahead: number): NodeRow => ({
  id: String(id),
  token: Number(token),
  address: address === null ? null : String(address),
  version: String(version),
  config_digest: String(config_digest),
  started_at: Number(started_at),
  expires_at: Number(expires_at) - ahead,
});
