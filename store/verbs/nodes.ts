// The nodes on the database. Each has a lease on its name, whose token fences its writes, and publishes its address and version.
import { type DatabaseRecord, type Driver, increment, type Value } from '../driver.ts';
import { select, where } from '../schema/query.ts';
import type { NodeRow } from '../schema/rows.ts';
import { nodes } from '../schema/tables.ts';
import { PUT_BACK_MS } from './leases.ts';

/** A node, with the number of its slots and leases. */
export interface KnownNode extends NodeRow {
  /** Slots of accounts. */
  readonly slots: number;
  /** Leases of the node's process on other names. */
  readonly leases: number;
}

export type NewNode = Omit<NodeRow, 'token' | 'expires_at'>;

export type Joined = { readonly joined: NodeRow } | { readonly taken: NodeRow };

export interface NodeVerbs {
  /**
   * Takes a lease on the node's name. If another process has a lease that has not expired, nothing changes, and its row is returned.
   * @param former the token of this process's own lost lease: reservations of its running turns count again, under the new lease
   */
  join(node: NewNode, ttlMs: number, former?: number): Promise<Joined>;
  /** Extends the lease. @returns its new expiry time; undefined if it was lost, because it had expired or another process has the name */
  renew(node: Pick<NodeRow, 'id' | 'token' | 'config_digest'>, ttlMs: number): Promise<number | undefined>;
  /** Ends the lease, which frees what the node held. Other processes are notified of nodes that leave or join through `changes`. */
  leave(token: number): Promise<void>;
  /** The nodes whose lease has not expired, by name. */
  list(): Promise<readonly NodeRow[]>;
  /** The nodes and what they hold. Those that ended without leaving are included for a day. */
  known(): Promise<readonly KnownNode[]>;
}

/** How long a node that ended without leaving is remembered. */
export const DEAD_NODES_KEPT_MS = 86_400_000;

/** The expiry time of a node that left. It shows that the node did not die. */
const LEFT = 0;

/** Also shortens leases that were taken before the clock was set back. A running node renews its lease anyway. */
const RENEW = `
  UPDATE nodes SET expires_at = $1, config_digest = CASE WHEN token = $2 THEN $3 ELSE config_digest END
  WHERE (id = $4 AND token = $5 AND expires_at > $6) OR expires_at > $7 RETURNING token`;

/** An owner of a lease is the id of a node, a slash, and a random part of its process. */
const KNOWN = `
  SELECT id, token, address, version, config_digest, started_at, expires_at,
    (SELECT coalesce(sum(held), 0) FROM slots WHERE slots.node = nodes.token) AS slots,
    (SELECT count(*) FROM leases
      WHERE substr(leases.owner, 1, length(nodes.id) + 1) = nodes.id || '/' AND leases.expires_at > $1) AS leases
  FROM nodes WHERE expires_at > $2 ORDER BY id`;

/**
 * Whether both are one process. A process whose join was not answered joins again, and finds a lease of its own. A process without a listener
 * cannot be recognised.
 */
const isSameProcess = (one: NewNode, other: NewNode): boolean =>
  one.address !== null && one.address === other.address && one.started_at === other.started_at;

/** @param clock Unix milliseconds of this process; leases are compared by the clock that all nodes share */
export function nodeVerbs(driver: Driver, clock: () => number): NodeVerbs {
  const ahead = (): number => driver.now() - clock();
  // SQLite needs a transaction, because it writes on another connection than it reads.
  const change = (sql: string, values: readonly Value[]): Promise<readonly DatabaseRecord[]> =>
    driver.shared ? driver.query(sql, values) : driver.transaction((session) => session.query(sql, values));
  const here = <Row extends NodeRow>(row: Row): Row => ({ ...row, expires_at: row.expires_at - ahead() });
  return {
    join: (node, ttlMs, former) =>
      driver.update<Joined>(async (transaction) => {
        // This takes a lock, so that one process joins at a time.
        const token = await increment(transaction, 'lease_token');
        const now = driver.now();
        const alive = [where('expires_at > ?', now), where('expires_at <= ?', now + ttlMs + PUT_BACK_MS)];
        const [other] = await select(transaction, nodes, { where: [where('id = ?', node.id), ...alive] });
        if (other && !isSameProcess(other, node)) return { result: { taken: here(other) }, batch: new Map() };
        for (const own of [former, other?.token]) {
          if (own !== undefined) await transaction.run('UPDATE key_grants SET node = $1 WHERE node = $2', [token, own]);
        }
        const row = { ...node, token, expires_at: now + ttlMs };
        return { result: { joined: here(row) }, batch: new Map([[nodes, [row]]]) };
      }),
    async renew({ id, token, config_digest }, ttlMs) {
      const expires_at = clock() + ttlMs;
      const now = driver.now();
      const values = [now + ttlMs, token, config_digest, id, token, now, now + ttlMs + PUT_BACK_MS];
      const renewed = await change(RENEW, values);
      return renewed.some((row) => Number(row.token) === token) ? expires_at : undefined;
    },
    leave: (token) =>
      driver.update(async (transaction) => {
        const left = await select(transaction, nodes, { where: [where('token = ?', token)] });
        await transaction.run('DELETE FROM slots WHERE node = $1', [token]);
        return { result: undefined, batch: new Map(left.length > 0 ? [[nodes, left.map((row) => ({ ...row, expires_at: LEFT }))]] : []) };
      }),
    async list() {
      return (await select(driver, nodes, { where: [where('expires_at > ?', driver.now())], order: 'id' })).map(here);
    },
    async known() {
      const now = driver.now();
      const records = await driver.query(KNOWN, [now, Math.max(LEFT, now - DEAD_NODES_KEPT_MS)]);
      return records.map((record) => here({ ...nodes.decode(record), slots: Number(record.slots), leases: Number(record.leases) }));
    },
  };
}
