// Slots of accounts: how many turns each node may send to an account, so that all nodes together stay within `max_concurrent` (Q34).
import type { Driver, Transaction } from '../driver.ts';
import { conditionsOf, filled, isIn, numbered } from '../schema/query.ts';
import type { SlotRow } from '../schema/rows.ts';
import { announcedSlots, slotLocks, slots } from '../schema/tables.ts';
import { type Present, type SlotClaim, slotChange } from './slot-change.ts';

/** The slots that a node has of one account. */
export interface SlotGrant {
  readonly account: string;
  /** Slots that no other node gets. */
  readonly held: number;
  /** The node begins a turn only while it has fewer turns at the account. Less than `held` if another node waits for its share. */
  readonly allowed: number;
  /** Whether another node lacks slots. Then the fair share changes with time. */
  readonly contended: boolean;
}

export interface SlotVerbs {
  /**
   *
   * Replaces the node's slots of the accounts. While no other node lacks any, the node gets free slots up to an ample amount: one and a
   * half times the slots that it asks for, at least an even share. Otherwise it gets the slots that it asks for up to its fair share, and
   * keeps those that the others do not lack. Other nodes are notified through `changes` if they may have to give back slots, or may get
   * some.
   * @returns undefined if the lease of the node has expired
   *
   */
  claim(node: number, claims: readonly SlotClaim[]): Promise<readonly SlotGrant[] | undefined>;
  /** The accounts at which another node needs more slots than it has. */
  short(node: number): Promise<readonly string[]>;
}

export function slotVerbs(driver: Driver): SlotVerbs {
  return {
    claim: (node, claims) =>
      driver.update(async (transaction) => {
        const now = driver.now();
        const [, present] = await Promise.all([
          transaction.lock(slotLocks, claims),
          read(
            transaction,
            claims.map(({ account }) => account),
            now,
          ),
        ]);
        if (!present.nodes.has(node)) return { result: undefined, batch: new Map() };
        const changes = claims.map((claim) => slotChange(claim, node, present));
        const written = changes.filter(({ row }) => !isStored(row, present));
        const tables = Map.groupBy(written, ({ announce }) => (announce ? announcedSlots : slots));
        return {
          result: changes.map(({ row: { account, held }, allowed, contended }) => ({ account, held, allowed, contended })),
          batch: new Map([...tables].map(([table, list]) => [table, list.map(({ row }) => row)])),
        };
      }),
    async short(node) {
      const sql =
        'SELECT DISTINCT account FROM slots JOIN nodes ON nodes.token = slots.node WHERE expires_at > $1 AND node <> $2 AND wanted > held';
      return (await driver.query(sql, [driver.now(), node])).map(({ account }) => String(account));
    },
  };
}

/** Reads the running nodes and their slots of the accounts. */
async function read(transaction: Transaction, accounts: readonly string[], now: number): Promise<Present> {
  const { sql, values } = conditionsOf([isIn('account', filled(accounts))]);
  const of = `SELECT account, node, held, wanted, since FROM slots${sql}`;
  const records = await transaction.query(
    numbered(`SELECT token, account, held, wanted, since FROM nodes LEFT JOIN (${of}) AS own ON own.node = token WHERE expires_at > ?`),
    [...values, now],
  );
  const rows = records.flatMap(({ token, account, held, wanted, since }): SlotRow[] =>
    account === null
      ? []
      : [{ account: String(account), node: Number(token), held: Number(held), wanted: Number(wanted), since: Number(since) }],
  );
  return { now, nodes: new Set(records.map(({ token }) => Number(token))), rows: Map.groupBy(rows, ({ account }) => account) };
}

const isStored = (row: SlotRow, { rows }: Present): boolean =>
  rows.get(row.account)?.some(({ node, held, wanted }) => node === row.node && held === row.held && wanted === row.wanted) ?? false;
