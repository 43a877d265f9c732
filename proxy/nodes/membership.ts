// The membership of this process among the nodes on the store. It joins with a lease on its name, renews it, and detects its loss (Q34).
import type { KnownNode, NewNode, NodeRow, NodeVerbs } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, withDeadline } from '../base/time/clock.ts';
import { firstLease, takenMessage } from './node-name.ts';

export interface MembershipOptions {
  readonly nodes: NodeVerbs;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  /** This node's current data. A function, because a reload changes its digest. */
  readonly self: () => Omit<NewNode, 'address'>;
}

/**
 * `member`: the lease is valid. `unsure`: it has expired by this node's clock, and the store has not been asked since, because the process
 * may have been paused. `cut_off`: it has expired, and the store cannot be reached.
 */
export type NodeStanding = 'member' | 'unsure' | 'cut_off';

/** Called when the membership changes. */
export interface MembershipListener {
  /** The lease was renewed, and the list of nodes read. */
  renewed(): void;
  /** The node has a new lease. Under it the node holds only the reservations of its running turns. */
  joined(): void;
  /** The store can no longer be reached, or can be reached again. */
  reached(reachable: boolean): void;
}

const LEASE_MS = 30_000;
const RENEW_MS = 5_000;
/** The interval of tries while the store cannot be reached or another process has the name. */
const RETRY_MS = 1_000;
/** The interval of tries while a stopping node gives up its name. */
const LEAVE_RETRY_MS = 100;
/** How long a failure to reach the store counts as current. */
const UNREACHABLE_MS = RENEW_MS + RETRY_MS;
const LEAVE_MS = 2_000;

export class Membership {
  readonly #options: MembershipOptions;
  readonly #listeners: MembershipListener[] = [];
  #address: string | null = null;
  #lease: { readonly token: number; readonly until: number } | undefined;
  /** The token of the last lease, which may be lost. Running turns have reserved under it. */
  #lastToken: number | undefined;
  /** When the store last could not be reached; undefined while it can. */
  #unreachableAt: number | undefined;
  #nodes: readonly KnownNode[] = [];
  #joining: Promise<void> | undefined;
  #renewing: Promise<void> | undefined;
  #stopped = false;
  #cancel: () => void = () => undefined;

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** The token of the last lease. Undefined before the node has joined, and while another process has its name. */
  get token(): number | undefined {
    return this.#lease?.token;
  }

  /** The running nodes and those that died within a day, by name, as last read. */
  get nodes(): readonly KnownNode[] {
    return this.#nodes;
  }

  listen(listener: MembershipListener): void {
    this.#listeners.push(listener);
  }

  /** The current standing. Costs one comparison while the lease is valid. A node that is unsure asks the store at once. */
  standing(): NodeStanding {
    const now = this.#options.clock.now();
    if (this.#lease && now < this.#lease.until) return 'member';
    if (this.#unreachableAt !== undefined && now - this.#unreachableAt < UNREACHABLE_MS) return 'cut_off';
    void this.#renew();
    return 'unsure';
  }

  /**
   * Joins, and renews the lease from then on. If a process died with this name, waits for the end of its lease.
   * @param address of the internal listener; null without one
   * @throws NodeNameTaken, StoreError
   */
  async start(address: string | null): Promise<void> {
    this.#address = address;
    const { log, nodes } = this.#options;
    this.#joined(await firstLease(() => nodes.join(this.#self(), LEASE_MS), this.#options));
    this.#nodes = await nodes.known();
    log.info('node_joined', { node: this.#self().id, token: this.token, nodes: this.#nodes.length });
    this.#schedule(RENEW_MS);
  }

  /** Joins again, because the store has no lease with this token. Resolves when that was tried. */
  async lost(token: number): Promise<void> {
    if (this.token === token) await this.#rejoin();
  }

  /** Stores the current state of this node, without waiting for the next renewal. */
  publish(): Promise<void> {
    return this.#renew();
  }

  /** Reads the nodes again, because one has joined or left, or an operator asks. After a failure the list stays unchanged. */
  async readNodes(): Promise<void> {
    try {
      this.#nodes = await this.#options.nodes.known();
    } catch {
      // The next renewal finds out whether the store can be reached.
    }
  }

  /**
   * Ends the lease. Tried for a while, so that the next process with this name need not wait if the store can be reached again in that
   * time.
   */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    const { clock } = this.#options;
    await withDeadline(this.#leave(clock.now() + LEAVE_MS), clock, LEAVE_MS);
  }

  /** @param late the time after which no try begins; Unix milliseconds */
  async #leave(late: number): Promise<void> {
    const { clock, nodes } = this.#options;
    // A renewal in progress may join again. The lease that it gets has to be ended too.
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

  /** Renews the lease. One renewal runs at a time. */
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
      // Another caller may have found the loss first and joined again.
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

  /** Joins again. A node that stops does not, because it would keep its name for the whole time of a lease. */
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
