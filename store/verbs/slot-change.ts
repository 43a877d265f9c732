// Decides how many of an account's slots one node gets, from the slots that all running nodes have and request (Q34).
import type { SlotRow } from '../schema/rows.ts';

/** What a node requests of one account. */
export interface SlotClaim {
  readonly account: string;
  /** `max_concurrent` of the account in the node's own configuration. */
  readonly most: number;
  /** The slots that the node keeps in any case, because its turns use them or may get them. */
  readonly kept: number;
  /** Turns that are at the account or could go there now. */
  readonly wanted: number;
}

/** The store's rows for the nodes and accounts of some claims. */
export interface Present {
  /** Unix milliseconds. */
  readonly now: number;
  /** The tokens of the running nodes. */
  readonly nodes: ReadonlySet<number>;
  /** Slots by account. */
  readonly rows: ReadonlyMap<string, readonly SlotRow[]>;
}

/** The result of a claim. */
export interface SlotChange {
  readonly row: SlotRow;
  readonly allowed: number;
  readonly contended: boolean;
  /** Whether other nodes may have to give back slots, or may get some. */
  readonly announce: boolean;
}

export function slotChange(
  { account, most, kept, wanted: asked }: SlotClaim,
  node: number,
  { now, nodes, rows: all }: Present,
): SlotChange {
  const rows = all.get(account) ?? [];
  const others = rows.filter((row) => row.node !== node);
  const before = rows.find((row) => row.node === node) ?? { account, node, held: 0, wanted: 0, since: now };
  const own = { ...before, wanted: Math.min(asked, most) };
  const free = most - sum(others, ({ held }) => held);
  const unmet = sum(others, ({ wanted, held }) => Math.max(0, wanted - held));
  // More slots are in use than exist if `max_concurrent` was reduced, or if turns of a lost lease still run.
  const contended = unmet > 0 || kept > free;
  const even = Math.floor(most / nodes.size);
  const ample = Math.max(even, Math.ceil(own.wanted * 1.5));
  // A node gives back its idle slots that others lack, and those beyond the ample amount.
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

export interface Sharer {
  readonly wanted: number;
  readonly held: number;
  /** When `held` last changed; Unix milliseconds. */
  readonly since: number;
}

/** How long a sharer keeps a unit that others wait for. Handing it over after every short turn would cost more than it gains. */
const TENURE_MS = 1_000;

/**
 * The share of one sharer (max-min fairness in whole numbers): it gets no more than it asks for, and the others share the rest. The
 * remainder rotates: with fewer units than sharers each one gets a unit for some time.
 */
export function fairShare(units: number, sharers: readonly Sharer[], of: Sharer, now: number): number {
  const level = levelOf(units, sharers);
  if (of.wanted <= level) return of.wanted;
  const left = units - sharers.reduce((sum, { wanted }) => sum + Math.min(wanted, level), 0);
  const order = (sharer: Sharer): number => {
    if (sharer.held <= level) return 1;
    return now - sharer.since < TENURE_MS ? 0 : 2;
  };
  const queue = sharers.filter(({ wanted }) => wanted > level).sort((a, b) => order(a) - order(b) || a.since - b.since);
  return queue.indexOf(of) < left ? level + 1 : level;
}

/** The greatest number of units that every sharer can have if it asks for as many. */
function levelOf(units: number, sharers: readonly Sharer[]): number {
  const wants = sharers.map(({ wanted }) => wanted).sort((a, b) => a - b);
  let left = units;
  for (const [i, wanted] of wants.entries()) {
    const share = Math.floor(left / (wants.length - i));
    if (wanted > share) return share;
    left -= wanted;
  }
  return units;
}
