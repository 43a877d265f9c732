// Several nodes on one store: each turn reaches any of them, and a node sees events at other nodes only after a delay.
import { hashOf } from '../../proxy/base/bytes/rendezvous.ts';
import { Counters } from '../../proxy/base/process/metrics.ts';
import type { Clock } from '../../proxy/base/time/clock.ts';
import { CapacityShares } from '../../proxy/nodes/capacity-shares.ts';
import { ExclusiveWork } from '../../proxy/nodes/exclusive-work.ts';
import type { MembershipListener } from '../../proxy/nodes/membership.ts';
import type { StrategyName } from '../../proxy/turn/settings.ts';
import { Conversations } from './conversations.ts';
import { DelayedRows } from './delayed-rows.ts';
import { GatewayNode, type Setting, settingOf } from './gateway-node.ts';
import type { SimulatedAccount } from './provider.ts';
import type { Router } from './router.ts';
import { SimulatedStore } from './simulated-store.ts';

export interface NodesOptions {
  readonly strategy: StrategyName;
  readonly nodes: number;
  /** The delay after which a node sees an event at another one. */
  readonly stalenessMs: number;
}

/** The interval of membership. */
const RENEW_MS = 5_000;

export function nodesRouter(
  { strategy, nodes: count, stalenessMs }: NodesOptions,
  simulated: readonly SimulatedAccount[],
  clock: Clock,
): Router {
  const cluster = new Cluster(count, stalenessMs, settingOf(strategy, simulated, clock));
  const conversations = new Conversations(clock);
  return {
    name: `${strategy}, ${count} nodes, ${stalenessMs / 1_000} s`,
    waiting: () => cluster.isAsking,
    route: (asking) => {
      const soft = asking.kind === 'pinned' ? asking.last : undefined;
      return cluster.nodeOf(asking.id).route(asking, { soft, affinity: conversations.affinityOf(asking) });
    },
  };
}

class Cluster {
  readonly #nodes: readonly GatewayNode[];
  readonly #shares: readonly CapacityShares[];
  readonly #store: SimulatedStore;
  /** The number of rows that are being read. */
  #reading = 0;

  constructor(count: number, stalenessMs: number, setting: Setting) {
    const { clock } = setting;
    const tokens = Array.from({ length: count }, (_, token) => token);
    const others = (writer: number, hears: (token: number) => void): void => {
      for (const token of tokens) if (token !== writer) hears(token);
    };
    this.#store = new SimulatedStore({
      clock,
      nodes: new Set(tokens),
      announce: (writer, account) =>
        void clock.after(stalenessMs, () => others(writer, (token) => this.#shares[token]?.changed([account]))),
    });
    const rows = new DelayedRows(clock, stalenessMs, (writer, { account, model }) =>
      others(writer, (token) => this.#read(this.#nodes[token]?.states.refresh([[account, model]]))),
    );
    const members = tokens.map((token) => ({
      id: `node-${token}`,
      token,
      address: null,
      version: '',
      config_digest: '',
      started_at: 0,
      expires_at: Number.POSITIVE_INFINITY,
      slots: 0,
      leases: 0,
    }));
    this.#shares = tokens.map((token) => {
      const listeners: MembershipListener[] = [];
      const membership = {
        token,
        nodes: members,
        standing: () => 'member' as const,
        lost: async () => undefined,
        listen: (listener: MembershipListener) => void listeners.push(listener),
      };
      const renew = (): void => {
        for (const listener of listeners) listener.renewed();
        clock.after(RENEW_MS, renew);
      };
      // The nodes did not all start at the same moment.
      clock.after((RENEW_MS * (token + 1)) / count, renew);
      return new CapacityShares({ slots: this.#store.slots, membership, clock, counters: new Counters() });
    });
    this.#nodes = tokens.map((token) => {
      const exclusive = new ExclusiveWork({ leases: this.#store.leases, clock, owner: `node-${token}` });
      return new GatewayNode(setting, { rows: rows.of(token), capacity: this.#shares[token] as CapacityShares, exclusive });
    });
    for (const shares of this.#shares) void shares.start();
  }

  /** Whether an answer of the store, or the account of a turn, is still pending. */
  get isAsking(): boolean {
    return this.#store.asked > 0 || this.#reading > 0 || this.#nodes.some(({ waiting }) => waiting > 0);
  }

  /** The node that a load balancer sends the turn to. */
  nodeOf(turn: string): GatewayNode {
    return this.#nodes[hashOf(turn) % this.#nodes.length] as GatewayNode;
  }

  #read(refreshing: Promise<unknown> | undefined): void {
    this.#reading += 1;
    void Promise.resolve(refreshing).finally(() => {
      this.#reading -= 1;
    });
  }
}
