// The membership of this process among the nodes of the store: it joins with a lease on its name, renews it, and detects its loss (Q34).
import type { KnownNode, NewNode, NodeRow, NodeVerbs } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, withDeadline } from '../base/time/clock.ts';

export interface MembershipOptions {
  readonly nodes: NodeVerbs;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  /** This node as it is now: a reload changes its digest. */
  readonly self: () => Omit<NewNode, 'address'>;
}

/**
 * `member`: the lease lasts. `unsure`: it has expired by this node's clock, and the store has not been asked since: the process may have
 * been paused. `cut_off`: it has expired, and the store cannot be reached.
 */
export type NodeStanding = 'member' | 'unsure' | 'cut_off';

/** Called when the membership changes. */
export interface MembershipListener {
  /** The lease was renewed, and the list of nodes read. */
  renewed(): void;
  /** A new lease: under it the node holds nothing yet but the reservations of its running turns. */
  joined(): void;
  /** The store cannot be reached, or was reached again. */
  reached(reachable: boolean): void;
}

const LEASE_MS = 30_000;
const RENEW_MS = 5_000;
/** While the store cannot be reached, or another process has the name. */
const RETRY_MS = 1_000;
/** While a node that stops frees its name. */
const LEAVE_RETRY_MS = 100;
/** A failure to reach the store counts as current for this time. */
const UNREACHABLE_MS = RENEW_MS + RETRY_MS;
const LEAVE_MS = 2_000;

/** Another process has the node's name. The message is for the operator. */
export class NodeNameTaken extends Error {
  override readonly name = 'NodeNameTaken';
}

export class Membership {
  readonly #options: MembershipOptions;
  readonly #listeners: MembershipListener[] = [];
  #address: string | null = null;
  #lease: { readonly token: number; readonly until: number } | undefined;
  /** The token of the last lease, which may be lost: running turns reserved under it. */
  #lastToken: number | undefined;
  /** When the store could not be reached last; undefined while it can. */
  #unreachableAt: number | undefined;
  #nodes: readonly KnownNode[] = [];
  #joining: Promise<void> | undefined;
  #renewing: Promise<void> | undefined;
  #stopped = false;
  #cancel: () => void = () => undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The token of the last lease; undefined before the node has joined, and while another process has its name. */
  get token(): number | undefined {
    return this.#lease?.token;
  }

  /** The living nodes and those that died within a day, by name, as they were read last. */
  get nodes(): readonly KnownNode[] {
    return this.#nodes;
  }

  listen(listener: MembershipListener): void {
    this.#listeners.push(listener);
  }

  /** Costs one comparison while the lease lasts. A node that is unsure asks the store at once. */
  standing(): NodeStanding {
    const now = this.#options.clock.now();
    if (this.#lease && now < this.#lease.until) return 'member';
    if (this.#unreachableAt !== undefined && now - this.#unreachableAt < UNREACHABLE_MS) return 'cut_off';
    void this.#renew();
    return 'unsure';
  }

  /**
   * Joins, and renews from then on. Waits for the lease of a process that died with this name; a lease that is renewed meanwhile shows
   * that the other process lives.
   * @param address of the internal listener; null without one
   * @throws NodeNameTaken, StoreError
   */
  async start(address: string | null): Promise<void> {
    this.#address = address;
    const { log, nodes } = this.#options;
    this.#joined(await this.#first());
    this.#nodes = await nodes.known();
    log.info('node_joined', { node: this.#self().id, token: this.token, nodes: this.#nodes.length });
    this.#schedule(RENEW_MS);
  }

  /** The first lease. */
  async #first(): Promise<NodeRow> {
    const { clock, log, nodes } = this.#options;
    // The timers of the clock do not keep the process alive.
    const alive = setInterval(() => undefined, LEASE_MS);
    try {
      for (let lastSeen: number | undefined; ; ) {
        const answer = await nodes.join(this.#self(), LEASE_MS);
        if ('joined' in answer) return answer.joined;
        const { id, expires_at } = answer.taken;
        if (lastSeen === undefined) log.warn('node_name_in_use', { node: id, message: waitMessage(expires_at) });
        else if (expires_at > lastSeen) throw new NodeNameTaken(takenMessage(answer.taken));
        lastSeen = expires_at;
        await new Promise<void>((resolve) => clock.after(RETRY_MS, resolve));
      }
    } finally {
      clearInterval(alive);
    }
  }

  /** The store has no lease of this token: joins again. Resolves when that was tried. */
  async lost(token: number): Promise<void> {
    if (this.token === token) await this.#rejoin();
  }

  /** Stores the current state of this node, without waiting for the next renewal. */
  publish(): Promise<void> {
    return this.#renew();
  }

  /** Reads the nodes again: one has joined or left, or an operator asks. A failure leaves the list as it was. */
  async readNodes(): Promise<void> {
    try {
      this.#nodes = await this.#options.nodes.known();
    } catch {
      // The renewal finds out whether the store can be reached.
    }
  }

  /** Ends the lease. Tried for a while: if the store comes back in that time, the next process with this name need not wait. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    const { clock } = this.#options;
    await withDeadline(this.#leave(clock.now() + LEAVE_MS), clock, LEAVE_MS);
  }

  /** @param late no try begins after it; Unix milliseconds */
  async #leave(late: number): Promise<void> {
    const { clock, nodes } = this.#options;
    // A request in progress may still join again: its lease is the one to end.
    await this.#renewing;
    await this.#joining;
    const { token } = this;
    while (token !== undefined && clock.now() < late) {
      try {
        await nodes.leave(token);
        return;
      } catch {
        await new Promise<void>((resolve) => clock.after(LEAVE_RETRY_MS, resolve));
      }
    }
  }

  #self(): NewNode {
    return { ...this.#options.self(), address: this.#address };
  }

  #schedule(ms: number): void {
    if (this.#stopped) return;
    this.#cancel();
    this.#cancel = this.#options.clock.after(ms, () => void this.#renew());
  }

  /** One at a time. */
  async #renew(): Promise<void> {
    if (this.#stopped) return;
    this.#renewing ??= this.#renewNow().finally(() => (this.#renewing = undefined));
    await this.#renewing;
  }

  async #renewNow(): Promise<void> {
    const { nodes } = this.#options;
    const { token } = this;
    try {
      const until = token === undefined ? undefined : await nodes.renew({ ...this.#self(), token }, LEASE_MS);
      // Others may have found the loss first, and joined again meanwhile.
      if (this.token === token) {
        if (token === undefined || until === undefined) await this.#rejoin();
        else this.#lease = { token, until };
      }
      this.#nodes = await nodes.known();
      this.#reached(true);
    } catch {
      this.#reached(false);
    }
    if (this.#stopped) return;
    const renewed = this.#unreachableAt === undefined && this.token !== undefined;
    if (renewed) for (const listener of this.#listeners) listener.renewed();
    this.#schedule(renewed ? RENEW_MS : RETRY_MS);
  }

  /** Does nothing for a node that stops: it would keep its name for the whole time of a lease. */
  async #rejoin(): Promise<void> {
    if (this.#stopped) return;
    this.#joining ??= this.#rejoinNow().finally(() => (this.#joining = undefined));
    await this.#joining;
  }

  async #rejoinNow(): Promise<void> {
    const { nodes, log, counters } = this.#options;
    try {
      const answer = await nodes.join(this.#self(), LEASE_MS, this.#lastToken);
      if ('taken' in answer) {
        if (this.#lease) log.error('node_name_taken', { node: answer.taken.id, message: takenMessage(answer.taken) });
        this.#lease = undefined;
        return;
      }
      counters.add('node_leases_lost');
      log.warn('node_lease_lost', { node: answer.joined.id, token: answer.joined.token });
      this.#joined(answer.joined);
      for (const listener of this.#listeners) listener.joined();
    } catch {
      this.#reached(false);
    }
  }

  #joined({ token, expires_at }: NodeRow): void {
    this.#lease = { token, until: expires_at };
    this.#lastToken = token;
  }

  #reached(reachable: boolean): void {
    const before = this.#unreachableAt === undefined;
    this.#unreachableAt = reachable ? undefined : this.#options.clock.now();
    if (before === reachable) return;
    for (const listener of this.#listeners) listener.reached(reachable);
  }
}

const waitMessage = (until: number): string =>
  `a process with this name ended without a stop, or runs: the start waits for the end of its lease, until ${new Date(until).toISOString()} at the latest`;

function takenMessage({ id, address, started_at, version }: NodeRow): string {
  const place = address === null ? '' : ` at ${address}`;
  const since = new Date(started_at).toISOString();
  return `a node named ${id} is running already${place} (poolgate ${version}, since ${since}): give this process another node.id`;
}
