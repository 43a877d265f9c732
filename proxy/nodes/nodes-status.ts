// The nodes on the store as operators see them: which nodes run, their versions and configurations, and what each holds (Q34).
import type { DatabaseStats, KnownNode } from '../../store/store.ts';
import type { CapacityShares } from './capacity-shares.ts';
import type { Membership, NodeStanding } from './membership.ts';

export interface NodeStatus {
  readonly node: string;
  /** The address of its internal listener; null without one. */
  readonly address: string | null;
  /** The version of the program. */
  readonly version: string;
  /** The digest of the settings that all nodes should have in common. */
  readonly config: string;
  readonly state: 'this' | 'alive' | 'dead';
  /** Whether that digest differs from this node's. */
  readonly differs: boolean;
  /** When the process started, ISO 8601. */
  readonly started_at: string;
  /** When the node's lease ends; Unix milliseconds. */
  readonly lease_until: number;
  /** The number of slots of accounts that the node holds. */
  readonly slots: number;
  readonly leases: number;
}

/** The nodes as last read, at most a few seconds ago while the store can be reached. */
export interface NodesStatus {
  readonly nodes: readonly NodeStatus[];
  /** Whether this node is a member, unsure of it, or cut off. */
  readonly standing: NodeStanding;
  readonly store: 'reachable' | 'unreachable';
  /** Whether changes of other nodes arrive at once. */
  readonly feed: 'connected' | 'polling';
  readonly settlements_waiting: number;
  /** The slots of this node, by account. */
  readonly slots: Readonly<Record<string, number>>;
}

export interface NodesStatusOptions {
  readonly membership: Pick<Membership, 'nodes' | 'standing' | 'token'>;
  readonly shares: Pick<CapacityShares, 'held'>;
  readonly database: DatabaseStats | undefined;
  readonly settlementsWaiting: number;
  /** The digest of this node's current configuration. */
  readonly digest: string;
  /** The current time; Unix milliseconds. */
  readonly now: number;
}

export function nodesStatus({ membership, shares, database, settlementsWaiting, digest, now }: NodesStatusOptions): NodesStatus {
  const statusOf = ({ id, token, address, version, config_digest, started_at, expires_at, slots, leases }: KnownNode): NodeStatus => {
    const own = token === membership.token;
    const config = own ? digest : config_digest;
    return {
      node: id,
      address,
      version,
      config,
      state: own ? 'this' : expires_at > now ? 'alive' : 'dead',
      differs: config !== digest,
      started_at: new Date(started_at).toISOString(),
      lease_until: expires_at,
      slots,
      leases,
    };
  };
  return {
    nodes: membership.nodes.map(statusOf),
    standing: membership.standing(),
    store: database?.reachable ? 'reachable' : 'unreachable',
    feed: database?.feed_connected ? 'connected' : 'polling',
    settlements_waiting: settlementsWaiting,
    slots: Object.fromEntries(shares.held()),
  };
}
