// The connections between nodes: this node's internal listener, and its connections to the listeners of the others. They do not exist if
// the store has one node (Q34).
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Store } from '../../store/store.ts';
import type { Heartbeat } from '../base/process/heartbeat.ts';
import type { Log } from '../base/process/log.ts';
import type { Counters } from '../base/process/metrics.ts';
import type { Clock } from '../base/time/clock.ts';
import type { LoadedConfig, NodeConfig } from '../config/config.ts';
import type { StoreKey } from '../encryption/store-key.ts';
import { HopListener, type HopListenerOptions, hopPath } from '../nodes/hop-listener.ts';
import { HopSignature } from '../nodes/hop-signature.ts';
import { OwnerConnections } from '../nodes/owner-connection.ts';
import type { NodeSessions } from './native-sessions.ts';

export interface NodeHopOptions {
  readonly store: Store;
  readonly key: StoreKey;
  readonly clock: Clock;
  readonly counters: Counters;
  readonly heartbeat: Heartbeat;
  readonly log: Log;
  readonly loaded: () => LoadedConfig;
}

const ANY_HOST: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export class NodeHop {
  readonly sessions: NodeSessions;
  readonly #node: NodeConfig;
  readonly #listener: (accept: HopListenerOptions['accept']) => HopListener;
  #open: HopListener | undefined;
  #address = '';

  /** Undefined if the store has one node, or if this node has no internal listener. */
  static of(options: NodeHopOptions): NodeHop | undefined {
    const { config, nodeSecret } = options.loaded();
    return options.store.shared && config.node.listen && nodeSecret !== undefined ? new NodeHop(options, nodeSecret) : undefined;
  }

  private constructor({ store, key, clock, counters, heartbeat, log, loaded }: NodeHopOptions, secret: string) {
    const { node, limits, timeouts } = loaded().config;
    const owner = `${node.id}/${randomUUID()}`;
    // The clocks of the machines may differ. Each node measures the difference of its own to the database's.
    const signature = new HopSignature(secret, () => clock.now() + (store.database()?.clock_difference_ms ?? 0));
    const maxFrameBytes = (): number => loaded().config.limits.upstream_event_bytes;
    this.#node = node;
    this.#listener = (accept) => new HopListener({ path: hopPath(owner), signature, counters, limits, timeouts, accept });
    this.sessions = {
      owners: { store: store.sessionOwners, owner, address: () => this.#address, digest: key.digest('sessions'), clock, counters },
      connections: new OwnerConnections({ node: node.id, signature, clock, counters, heartbeat, log, maxFrameBytes }),
    };
  }

  /** Resolves when connections are accepted, with the URL under which other nodes reach this one. */
  async listen(accept: HopListenerOptions['accept']): Promise<string> {
    const { listen: { host, port } = { host: '', port: 0 }, address } = this.#node;
    this.#open = this.#listener(accept);
    const bound = await this.#open.listen(host, port);
    const name = ANY_HOST.has(host) ? hostname() : host;
    this.#address = address ?? `http://${name.includes(':') ? `[${name}]` : name}:${bound.port}`;
    return this.#address;
  }

  async close(): Promise<void> {
    await this.#open?.close();
  }
}
