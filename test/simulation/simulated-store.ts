// The database of a simulated day: it decides about slots of accounts and leases like the store, and answers after a round trip.
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { SlotRow } from '../../store/schema/rows.ts';
import type { Lease, LeaseVerbs, SlotVerbs } from '../../store/store.ts';
import { slotChange } from '../../store/verbs/slot-change.ts';

/** A round trip to a database in the same network. */
const ROUND_TRIP_MS = 2;

export interface SimulatedStoreOptions {
  readonly clock: Clock;
  /** The tokens of the nodes. */
  readonly nodes: ReadonlySet<number>;
  /** Called if other nodes may have to give back slots of the account, or may get some. */
  readonly announce: (writer: number, account: string) => void;
}

export class SimulatedStore {
  /** The number of questions without an answer so far. */
  asked = 0;
  readonly leases: LeaseVerbs;
  readonly slots: SlotVerbs;
  readonly #options: SimulatedStoreOptions;
  /** The slots by account, then by node. */
  readonly #slots = new Map<string, Map<number, SlotRow>>();
  /** For each account, the nodes that need more slots than they have. */
  readonly #short = new Map<string, Set<number>>();
  readonly #leases = new Map<string, Lease>();
  #tokens = 0;

  constructor(options: SimulatedStoreOptions) {
    this.#options = options;
    this.slots = {
      claim: (node, claims) =>
        this.#answer(() => {
          const { nodes, announce, clock } = this.#options;
          const rows = new Map(claims.map(({ account }) => [account, [...(this.#slots.get(account)?.values() ?? [])]]));
          const changes = claims.map((claim) => slotChange(claim, node, { now: clock.now(), nodes, rows }));
          for (const change of changes) {
            const { account } = change.row;
            const held = this.#slots.get(account) ?? new Map<number, SlotRow>();
            this.#slots.set(account, held.set(node, change.row));
            const short = this.#short.get(account) ?? new Set();
            this.#short.set(account, short);
            if (change.row.wanted > change.row.held) short.add(node);
            else short.delete(node);
            if (change.announce) announce(node, account);
          }
          return changes.map(({ row: { account, held }, allowed, contended }) => ({ account, held, allowed, contended }));
        }),
      short: (node) =>
        this.#answer(() => [...this.#short].flatMap(([account, nodes]) => ([...nodes].some((other) => other !== node) ? [account] : []))),
    };
    this.leases = {
      acquire: (name, owner, ttlMs) =>
        this.#answer(() => {
          const now = this.#options.clock.now();
          if ((this.#leases.get(name)?.expires_at ?? 0) > now) return undefined;
          const lease = { name, owner, token: ++this.#tokens, expires_at: now + ttlMs };
          this.#leases.set(name, lease);
          return lease;
        }),
      renew: (lease, ttlMs) =>
        this.#answer(() => {
          if (this.#leases.get(lease.name)?.token !== lease.token) return undefined;
          const renewed = { ...lease, expires_at: this.#options.clock.now() + ttlMs };
          this.#leases.set(lease.name, renewed);
          return renewed;
        }),
      release: ({ name, token }) =>
        this.#answer(() => {
          if (this.#leases.get(name)?.token === token) this.#leases.delete(name);
        }),
    };
  }

  #answer<Answer>(decide: () => Answer): Promise<Answer> {
    this.asked += 1;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.#options.clock.after(ROUND_TRIP_MS, () => resolve(decide()));
    return promise.finally(() => {
      this.asked -= 1;
    });
  }
}
