// Several nodes for a test: gateways in this process, with one empty database, the same accounts, and internal listeners.
import { type Draft, type GatewayOptions, startGateway, type TestGateway } from '../gateway.ts';
import { freshDatabase, postgres } from '../postgres/postgres.ts';

export interface NodesOptions extends Pick<GatewayOptions, 'upstream' | 'clock' | 'config'> {
  /** Edits the configuration of one node, after the common edits. */
  readonly own?: (draft: Draft, node: string) => void;
  /** The clocks of single nodes. */
  readonly clocks?: Readonly<Record<string, GatewayOptions['clock']>>;
}

/** The row of a session that is leased to a node. */
export interface OwnedSession {
  readonly owner: string;
  readonly address: string;
}

/** The nodes by name. `await using` stops them and their accounts. */
export type Nodes<Name extends string> = Readonly<Record<Name, TestGateway>> &
  AsyncDisposable & {
    /** The sessions that are leased to any node. */
    owned(): Promise<readonly OwnedSession[]>;
    /** Makes the other nodes look for the owners of all sessions at this URL. */
    moveOwners(address: string): Promise<void>;
  };

export async function startNodes<const Name extends string>(names: readonly Name[], options: NodesOptions = {}): Promise<Nodes<Name>> {
  const { config, own, clock, clocks = {}, upstream = { strict: false } } = options;
  const asNode = (name: string) => (draft: Draft) => {
    draft.node = { id: name, listen: { host: '127.0.0.1', port: 0 }, secret: { env: 'NODE_SECRET' } };
    own?.(draft, name);
  };
  const clockOf = (name: string): Pick<GatewayOptions, 'clock'> => {
    const chosen = clocks[name] ?? clock;
    return chosen ? { clock: chosen } : {};
  };
  const [first, ...others] = names;
  if (first === undefined) throw new Error('no nodes');
  const all = (draft: Draft): void => {
    config?.(draft);
    asNode(first)(draft);
  };
  const store = await freshDatabase();
  const sql = async (text: string) => (await postgres()).query(store, text);
  const gate = await startGateway({ store, upstream, config: all, ...clockOf(first) });
  const started: [string, TestGateway][] = [[first, gate]];
  for (const name of others) started.push([name, await gate.twin({ config: asNode(name), ...clockOf(name) })]);
  return Object.assign(Object.fromEntries(started) as Record<Name, TestGateway>, {
    owned: async () => (await sql('SELECT owner, address FROM session_owners')) as unknown as readonly OwnedSession[],
    moveOwners: async (address: string) => void (await sql(`UPDATE session_owners SET address = '${address}'`)),
    async [Symbol.asyncDispose]() {
      await Promise.all(started.map(([, node]) => node.stop()));
      await gate.upstream.close();
    },
  });
}
