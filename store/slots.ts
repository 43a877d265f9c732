// Slots of accounts: how many turns each node may have at an account, so that all nodes together stay within `max_concurrent` (Q34).
import type { Driver, Transaction } from './driver.ts';
import { fairShare } from './fair-share.ts';
import { conditionsOf, filled, numbered, oneOf } from './query.ts';
import type { SlotRow } from './rows.ts';
import { announcedSlots, slotLocks, slots } from './tables.ts';

/** What a node asks of one account. */
export interface SlotClaim {
  readonly account: string;
  /** `max_concurrent` of the account, by the node's own configuration. */
  readonly most: number;
  /** Turns of the node that are there now: their slots are not given back. */
  readonly using: number;
  /** Turns that are there or could go there now. */
  readonly wanted: number;
}

/** What a node has of one account. */
export interface SlotGrant {
  readonly account: string;
  /** No other node gets these. */
  readonly held: number;
  /** The node begins a turn only while fewer are there. Less than `held` where another node waits for its share. */
  readonly allowed: number;
}

export interface SlotVerbs {
  /**
   * Replaces what the node has of the accounts: as many slots as it wants, and some to spare, as far as they are free; its fair share
   * where others want more than there is. Other nodes hear of it through `changes` where they may have to give some back, or may get some.
   * @returns undefined where the lease of the node has expired
   */
  claim(node: number, claims: readonly SlotClaim[]): Promise<readonly SlotGrant[] | undefined>;
  /** The accounts of which another node wants more than it has. */
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
        const changes = claims.map((claim) => changed(claim, node, present));
        const tables = Map.groupBy(changes, ({ announce }) => (announce ? announcedSlots : slots));
        return {
          result: changes.map(({ row: { account, held }, allowed }) => ({ account, held, allowed })),
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

/** The nodes that live, and what they have of the accounts. */
async function read(transaction: Transaction, accounts: readonly string[], now: number): Promise<Present> {
  const { sql, values } = conditionsOf([oneOf('account', filled(accounts))]);
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

interface Present {
  /** Unix milliseconds. */
  readonly now: number;
  /** The tokens of those that live. */
  readonly nodes: ReadonlySet<number>;
  /** By account. */
  readonly rows: ReadonlyMap<string, readonly SlotRow[]>;
}

interface Change {
  readonly row: SlotRow;
  readonly allowed: number;
  /** Whether other nodes may have to give slots back, or may get some. */
  readonly announce: boolean;
}

function changed({ account, most, using, wanted: asked }: SlotClaim, node: number, { now, nodes, rows: all }: Present): Change {
  const rows = all.get(account) ?? [];
  const others = rows.filter((row) => row.node !== node);
  const before = rows.find((row) => row.node === node) ?? { account, node, held: 0, wanted: 0, since: now };
  const wanted = Math.min(asked, most);
  const free = most - others.reduce((sum, { held }) => sum + held, 0);
  const own = { ...before, wanted };
  // The second: fewer slots than are used, after a smaller `max_concurrent`, or under a new lease with turns of a lost one.
  const contended = others.some((row) => row.wanted > row.held) || using > free;
  const share = contended ? fairShare(most, [...others, own], own, now) : most;
  const held = Math.max(using, Math.min(contended ? wanted : wanted + spare(wanted, most, nodes.size), share, free), 0);
  const row = { ...own, held, since: held === before.held ? before.since : now };
  const newlyShort = wanted > held && (wanted > before.wanted || before.wanted <= before.held);
  return { row, allowed: Math.min(held, share), announce: newlyShort || (contended && held < before.held) };
}

/** What a node holds beyond what it needs while no other one needs it: an equal part at least, so that a turn seldom waits for a slot. */
const spare = (wanted: number, most: number, nodes: number): number => Math.max(Math.ceil(wanted / 2), Math.floor(most / nodes) - wanted);
