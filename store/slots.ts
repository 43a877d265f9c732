// Slots of accounts: how many turns each node may have at an account, so that all nodes together stay within `max_concurrent` (Q34).
import type { Driver, Transaction } from './driver.ts';
import { fairShare } from './fair-share.ts';
import { filled, oneOf, select } from './query.ts';
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

export function slotVerbs(driver: Driver, clock: () => number): SlotVerbs {
  return {
    claim: (node, claims) =>
      driver.update(async (transaction) => {
        const now = clock();
        const nodes = await livingNodes(transaction, now);
        if (!nodes.has(node)) return undefined;
        const sorted = [...claims].sort((a, b) => (a.account < b.account ? -1 : 1));
        // Locked in the order of their names, so that two nodes never wait for each other; what is read next is what the last holder wrote.
        await transaction.write(new Map([[slotLocks, sorted.map(({ account }) => ({ account }))]]));
        const rows = await rowsOf(transaction, sorted, nodes);
        const changes = sorted.map((claim) => settled(claim, { node, nodes: nodes.size, now, rows: rows.get(claim.account) ?? [] }));
        const written = Map.groupBy(changes, ({ announce }) => (announce ? announcedSlots : slots));
        await transaction.write(new Map([...written].map(([table, list]) => [table, list.map(({ row }) => row)])));
        return changes.map(({ row: { account, held }, allowed }) => ({ account, held, allowed }));
      }),
    async short(node) {
      const sql =
        'SELECT DISTINCT account FROM slots JOIN nodes ON nodes.token = slots.node WHERE expires_at > $1 AND node <> $2 AND wanted > held';
      return (await driver.query(sql, [clock(), node])).map(({ account }) => String(account));
    },
  };
}

async function livingNodes(transaction: Transaction, now: number): Promise<ReadonlySet<number>> {
  const rows = await transaction.query('SELECT token FROM nodes WHERE expires_at > $1', [now]);
  return new Set(rows.map(({ token }) => Number(token)));
}

/** By account, of the nodes that live. */
async function rowsOf(
  transaction: Transaction,
  claims: readonly SlotClaim[],
  nodes: ReadonlySet<number>,
): Promise<ReadonlyMap<string, readonly SlotRow[]>> {
  const accounts = filled(claims.map(({ account }) => account));
  const rows = await select(transaction, slots, { where: [oneOf('account', accounts)] });
  return Map.groupBy(
    rows.filter(({ node }) => nodes.has(node)),
    ({ account }) => account,
  );
}

interface Present {
  readonly node: number;
  /** The number of living nodes. */
  readonly nodes: number;
  readonly now: number;
  /** Of the account, all living nodes'. */
  readonly rows: readonly SlotRow[];
}

interface Change {
  readonly row: SlotRow;
  readonly allowed: number;
  /** Whether other nodes may have to give slots back, or may get some. */
  readonly announce: boolean;
}

function settled({ account, most, using, wanted: asked }: SlotClaim, { node, nodes, now, rows }: Present): Change {
  const others = rows.filter((row) => row.node !== node);
  const before = rows.find((row) => row.node === node) ?? { account, node, held: 0, wanted: 0, since: now };
  const wanted = Math.min(asked, most);
  const free = most - others.reduce((sum, { held }) => sum + held, 0);
  const own = { ...before, wanted };
  const contended = others.some((row) => row.wanted > row.held);
  const share = contended ? fairShare(most, [...others, own], own, now) : most;
  const held = Math.max(using, Math.min(contended ? wanted : wanted + spare(wanted, most, nodes), share, free), 0);
  const row = { ...own, held, since: held === before.held ? before.since : now };
  const newlyShort = wanted > held && (wanted > before.wanted || before.wanted <= before.held);
  return { row, allowed: Math.min(held, share), announce: newlyShort || (contended && held < before.held) };
}

/** What a node holds beyond what it needs while no other one needs it: an equal part at least, so that a turn seldom waits for a slot. */
const spare = (wanted: number, most: number, nodes: number): number => Math.max(Math.ceil(wanted / 2), Math.floor(most / nodes) - wanted);
