// The services of a process that shares its store with other nodes: membership, slots of accounts, limits over all nodes (Q34). With SQLite
// they do not exist.
import manifest from '../../package.json' with { type: 'json' };
import type { ChangeFeed } from '../../store/change-feed.ts';
import type { Store } from '../../store/store.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import { type Clock, withDeadline } from '../base/time/clock.ts';
import type { Config, LoadedConfig } from '../config/config.ts';
import { sharedDigestOf } from '../config/config-diff.ts';
import type { Ledger } from '../keys/ledger.ts';
import type { LimitCounts } from '../keys/limits/key-limits.ts';
import { SharedLimits } from '../keys/limits/shared-limits.ts';
import { Settlements } from '../keys/settlements.ts';
import { CapacityShares } from '../nodes/capacity-shares.ts';
import { Membership } from '../nodes/membership.ts';
import { type NodesStatus, nodesStatus } from '../nodes/nodes-status.ts';

export interface NodeServicesOptions {
  readonly store: Pick<Store, 'database' | 'limits' | 'nodes' | 'slots'>;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly log: Log;
  readonly loaded: () => LoadedConfig;
}

/** How long a node that stops tries to write its last settlements. */
const SETTLE_MS = 5_000;
const READ_MS = 1_000;

export class NodeServices {
  readonly membership: Membership;
  readonly shares: CapacityShares;
  readonly settlements: Settlements;
  readonly #options: NodeServicesOptions;
  #digest: { readonly of: Config; readonly digest: string } | undefined;

  constructor(options: NodeServicesOptions) {
    const { store, clock, counters, log, loaded } = options;
    const startedAt = clock.wallTime();
    this.#options = options;
    this.membership = new Membership({
      nodes: store.nodes,
      clock,
      counters,
      log,
      self: () => ({ id: loaded().config.node.id, version: manifest.version, config_digest: this.digest, started_at: startedAt }),
    });
    this.shares = new CapacityShares({ slots: store.slots, membership: this.membership, clock, counters });
    this.settlements = new Settlements(store.limits, clock);
  }

  /** The digest of the configuration with which new turns begin. */
  get digest(): string {
    const { config } = this.#options.loaded();
    if (this.#digest?.of !== config) this.#digest = { of: config, digest: sharedDigestOf(config) };
    return this.#digest.digest;
  }

  /** Whether `/readyz` may report that the node is ready. */
  get isReady(): boolean {
    const { store, loaded } = this.#options;
    return this.membership.token !== undefined && (loaded().config.node.ready_without_store || store.database()?.reachable === true);
  }

  limitCounts(ledger: Ledger): LimitCounts {
    const { store, clock, counters } = this.#options;
    return new SharedLimits({ limits: store.limits, settlements: this.settlements, node: this.membership, ledger, clock, counters });
  }

  /** Handles changes by other nodes that concern this node. */
  follow(changes: Pick<ChangeFeed, 'on'>): void {
    changes.on('nodes', async () => {
      await this.membership.readNodes();
      this.shares.nodesChanged();
    });
    changes.on('slots', (keys) => this.shares.changed(keys.map(([account]) => String(account))));
  }

  /** Reads the other nodes again for `status`. If there is no answer within a second, the former state is kept. */
  async refresh(): Promise<void> {
    await withDeadline(this.membership.readNodes(), this.#options.clock, READ_MS);
  }

  status(): NodesStatus {
    const { membership, shares, settlements, digest } = this;
    const { store, clock } = this.#options;
    const { waiting: settlementsWaiting } = settlements;
    return nodesStatus({ membership, shares, database: store.database(), settlementsWaiting, digest, now: clock.now() });
  }

  /** @returns the number of settlements that are lost */
  async stop(): Promise<number> {
    await this.settlements.close(SETTLE_MS);
    const { waiting } = this.settlements;
    if (waiting > 0) this.#options.log.error('settlements_lost', { settlements: waiting });
    this.shares.stop();
    await this.membership.stop();
    return waiting;
  }
}
