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
  /** What it keeps in any case: its turns have these slots, or may get them. */
  readonly kept: number;
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
  /** Whether another node lacks slots: what is fair changes with time. */
  readonly contended: boolean;
}

export interface SlotVerbs {
  /**
   * Replaces what the node has of the accounts. While no other node lacks any, it gets what is free of an ample amount: half more than it
   * wants, an even part at least. Else it gets what it wants up to its fair share, and keeps what the others do not lack. Other nodes hear
   * of it through `changes` where they may have to give slots back, or may get some.
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

const isStored = (row: SlotRow, { rows }: Present): boolean =>
  rows.get(row.account)?.some(({ node, held, wanted }) => node === row.node && held === row.held && wanted === row.wanted) ?? false;

interface Change {
  readonly row: SlotRow;
  readonly allowed: number;
  readonly contended: boolean;
  /** Whether other nodes may have to give slots back, or may get some. */
  readonly announce: boolean;
}

function changed({ account, most, kept, wanted: asked }: SlotClaim, node: number, { now, nodes, rows: all }: Present): Change {
  const rows = all.get(account) ?? [];
  const others = rows.filter((row) => row.node !== node);
  const before = rows.find((row) => row.node === node) ?? { account, node, held: 0, wanted: 0, since: now };
  const own = { ...before, wanted: Math.min(asked, most) };
  const free = most - sum(others, ({ held }) => held);
  const unmet = sum(others, ({ wanted, held }) => Math.max(0, wanted - held));
  // The second: fewer slots than are in use, after a smaller `max_concurrent`, or under a new lease with turns of a lost one.
  const contended = unmet > 0 || kept > free;
  const even = Math.floor(most / nodes.size);
  const ample = Math.max(even, Math.ceil(own.wanted * 1.5));
  // Of what is idle a node gives back what the others lack, and what is more than ample.
  const spared = Math.min(before.held - Math.max(0, unmet - (free - before.held)), ample);
  const limit = contended ? Math.max(fairShare(most, [...others, own], own, now), spared) : most;
  const target = contended ? Math.max(own.wanted, before.held) : ample;
  const held = Math.max(kept, Math.min(target, limit, free), 0);
  const newlyShort = own.wanted > held && (own.wanted > before.wanted || before.wanted <= before.held);
  const isAwaited = unmet > 0 || others.filter((row) => row.held >= even).length < nodes.size - 1;
  return {
    row: { ...own, held, since: held === before.held ? before.since : now },
    allowed: Math.min(held, limit),
    contended,
    announce: newlyShort || (isAwaited && held < before.held),
  };
}

const sum = <Row>(rows: readonly Row[], of: (row: Row) => number): number => rows.reduce((all, row) => all + of(row), 0);
