// Three gateways on one PostgreSQL with the same accounts, for tests of counts over all nodes.
import type { Clock } from '../../proxy/base/time/clock.ts';
import { type GatewayOptions, startGateway, type TestGateway } from '../support/gateway.ts';
import { freshDatabase } from '../support/postgres/postgres.ts';

export interface Nodes extends AsyncDisposable {
  readonly all: readonly [TestGateway, TestGateway, TestGateway];
  /** The URL of their database. */
  readonly store: string;
}

export interface NodesOptions extends Pick<GatewayOptions, 'clock' | 'config' | 'upstream'> {
  /** A clock for each node. */
  readonly clocks?: readonly Clock[];
}

export async function threeNodes({ clocks = [], clock, ...options }: NodesOptions = {}): Promise<Nodes> {
  const store = await freshDatabase();
  const clockOf = (node: number): Pick<GatewayOptions, 'clock'> => {
    const own = clocks[node] ?? clock;
    return own ? { clock: own } : {};
  };
  const first = await startGateway({ upstream: { accounts: ['north'], strict: false }, ...options, ...clockOf(0), store });
  const [second, third] = [await first.twin(clockOf(1)), await first.twin(clockOf(2))];
  return {
    all: [first, second, third],
    store,
    async [Symbol.asyncDispose]() {
      await Promise.all([second.stop(), third.stop()]);
      await first.close();
    },
  };
}
