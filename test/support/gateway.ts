// A running gateway for a test, with real sockets on free ports, the rehearsal provider as its upstream, and a temporary store.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { stringify } from 'yaml';
import type { ProcessLoad } from '../../proxy/admission/process-load.ts';
import { Log } from '../../proxy/base/process/log.ts';
import type { Clock } from '../../proxy/base/time/clock.ts';
import type { LoadedConfig } from '../../proxy/config/config.ts';
import { inspect } from '../../proxy/config/loading/load.ts';
import { Gateway } from '../../proxy/gateway/gateway.ts';
import { startConfigured } from '../../proxy/rehearsal/configured-provider.ts';
import type { ProviderOf } from '../../proxy/turn/provider/provider-api.ts';
import type { Surface } from '../../proxy/turn/surface.ts';
import { fetchFrom, type Reply, type RequestOptions, sendTo } from './network/sent-requests.ts';
import { Probes } from './probes.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from './rehearsal.ts';

export type { Reply, RequestOptions } from './network/sent-requests.ts';

export const KEY = 'pg-test-key';
export const DIGEST = hash('sha256', KEY, 'hex');

/** The credential of an account in tests. It must be sent only to this account. */
export const bearerOf = (account: string): string => `bearer-of-${account}`;

/** config.yaml as an object that a test edits. */
// biome-ignore lint/suspicious/noExplicitAny: a draft of a file may be wrong in any way
export type Draft = Record<string, any>;

/** The secret with which requests between the nodes of a test are signed. */
export const NODE_SECRET = 'node-secret-of-the-tests';

export interface GatewayOptions {
  readonly upstream?: UpstreamOptions;
  /** Edits the configuration before it is loaded. */
  readonly config?: (draft: Draft) => void;
  /** The path to which the configuration is written, so that it can be edited and reloaded. Default: no file. */
  readonly path?: string;
  readonly clock?: Clock;
  /** The argument of `openStore`. Default: a store in memory. Several gateways may share a `freshDatabase()`. */
  readonly store?: string;
  /** The load of the process for the guard. Default: the guard is disabled, so that a busy machine does not affect tests. */
  readonly load?: ProcessLoad;
  /** Returns the API of an account. Default: that of the product. */
  readonly providerOf?: ProviderOf;
  /** Surfaces in addition to those of the product. */
  readonly surfaces?: readonly Surface[];
}

export class TestGateway extends Probes {
  readonly upstream: Upstream;
  readonly url: string;
  readonly adminUrl: string;
  /** The URL of the metrics listener, if there is one. */
  readonly metricsUrl: string;
  /** All lines of the operator log. */
  readonly logged: readonly string[];
  readonly #draft: Draft;

  constructor(parts: {
    gateway: Gateway;
    upstream: Upstream;
    url: string;
    adminUrl: string;
    metricsUrl: string;
    logged: readonly string[];
    draft: Draft;
  }) {
    super(parts.gateway);
    this.upstream = parts.upstream;
    this.url = parts.url;
    this.adminUrl = parts.adminUrl;
    this.metricsUrl = parts.metricsUrl;
    this.logged = parts.logged;
    this.#draft = parts.draft;
  }

  fetch(path: string, init: RequestOptions = {}): Promise<Response> {
    return fetchFrom({ url: this.url, key: KEY }, path, init);
  }

  send(path: string, init: RequestOptions = {}): Promise<Reply> {
    return sendTo({ url: this.url, key: KEY }, path, init);
  }

  /** The page of metrics. */
  async metrics(): Promise<string> {
    return (await fetch(`${this.adminUrl}/metrics`)).text();
  }

  /** Edits the running configuration, as if an operator had saved the file. */
  async reconfigure(edit: (draft: Draft) => void): Promise<void> {
    edit(this.#draft);
    await this.gateway.reload(await loadedFrom(this.#draft, this.gateway.loaded.path));
  }

  /** Reads the credential files again, as after a login by the operator. */
  refresh(): Promise<void> {
    return this.gateway.refresh();
  }

  /** Forgets what earlier tests left: the scripts and requests of the accounts, and their cooldowns. */
  reset(): void {
    this.upstream.clear();
    this.heal();
  }

  /** Stops the gateway, and starts it again with the same store and accounts. Needs a store in a file or a database. */
  async restarted(options: Pick<GatewayOptions, 'clock'> = {}): Promise<TestGateway> {
    await this.stop();
    return this.#running(this.gateway.loaded, this.#draft, options);
  }

  /**
   * Starts a second gateway with the same store and accounts. Needs a store in a file or a database; with a database it is another node.
   * @param options `config` edits a copy of this gateway's configuration
   */
  async twin({ clock, config }: Pick<GatewayOptions, 'clock' | 'config'> = {}): Promise<TestGateway> {
    const isNode = typeof this.#draft.store !== 'string';
    const draft = config || isNode ? structuredClone(this.#draft) : this.#draft;
    if (isNode) draft.node = { ...draft.node, id: nextNode() };
    config?.(draft);
    const loaded = draft === this.#draft ? this.gateway.loaded : await loadedFrom(draft);
    return this.#running(loaded, draft, clock ? { clock } : {});
  }

  #running(loaded: LoadedConfig, draft: Draft, options: Pick<GatewayOptions, 'clock'>): Promise<TestGateway> {
    return running(loaded, { upstream: this.upstream, draft, ...options });
  }

  /** Stops the gateway. Its accounts keep running. */
  async stop(): Promise<void> {
    await this.gateway.close();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.upstream.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

let nodes = 0;

const nextNode = (): string => `node-${++nodes}`;

/** Starts a gateway and its upstream; `await using` stops both. */
export async function startGateway(options: GatewayOptions = {}): Promise<TestGateway> {
  const named = options.upstream?.accounts ?? ['north', 'south'];
  const accounts = named.map((account) => {
    const { id, ...rest } = typeof account === 'string' ? { id: account } : account;
    return { credential: bearerOf(id), ...rest, id };
  });
  const upstream = await startUpstream({ ...options.upstream, accounts });
  const draft = await draftFor(
    accounts.map(({ id }) => id),
    upstream,
    options,
  );
  options.config?.(draft);
  const { clock, path, load, providerOf, surfaces } = options;
  if (path !== undefined) writeFileSync(path, stringify(draft));
  try {
    return await running(await loadedFrom(draft, path), {
      upstream,
      draft,
      ...(clock && { clock }),
      ...(load && { load }),
      ...(providerOf && { providerOf }),
      ...(surfaces && { surfaces }),
    });
  } catch (thrown) {
    await upstream.close();
    throw thrown;
  }
}

async function running(
  loaded: LoadedConfig,
  {
    upstream,
    draft,
    clock,
    load,
    providerOf,
    surfaces,
  }: Pick<GatewayOptions, 'clock' | 'load' | 'providerOf' | 'surfaces'> & { readonly upstream: Upstream; readonly draft: Draft },
): Promise<TestGateway> {
  const logged: string[] = [];
  const gateway = await Gateway.open({
    loaded,
    log: new Log('debug', (line) => void logged.push(line)),
    ...(clock ? { clock } : {}),
    ...(load ? { load } : {}),
    ...(providerOf ? { providerOf } : {}),
    ...(surfaces ? { surfaces } : {}),
    // In this thread, because starting another one takes ten times the processor time of starting a gateway.
    startRehearsal: startConfigured,
  });
  const { main, admin, metrics } = await gateway.listen();
  const url = `http://127.0.0.1:${main?.port}`;
  const [adminUrl, metricsUrl] = [`http://127.0.0.1:${admin?.port}`, `http://127.0.0.1:${metrics?.port}`];
  const gate = new TestGateway({ gateway, upstream, url, adminUrl, metricsUrl, logged, draft });
  await gate.ready();
  return gate;
}

/** A configuration with these accounts of the upstream, one Pool, and the tests' key. */
export async function draftFor(
  accounts: readonly string[],
  upstream: Upstream,
  { store = 'sqlite::memory:', load }: GatewayOptions,
): Promise<Draft> {
  const settings = store.startsWith('sqlite:')
    ? { store }
    : { ...(await (await import('./postgres/postgres.ts')).postgres()).settings(store), node: { id: nextNode() } };
  return {
    ...settings,
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    timeouts: { drain_ms: 1000 },
    limits: {},
    ...(load ? {} : { guard: { event_loop_ms: 0, memory_percent: 0 } }),
    accounts: accounts.map((id) => ({
      id,
      label: id.toUpperCase(),
      base_url: upstream.urlOf(id),
      credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } },
    })),
    // Accounts are filled in the order of the configuration, so that a test can predict the account of a turn.
    pools: [{ id: 'team', label: 'Team', strategy: 'fill_first', assignments: accounts.map((account) => ({ account })) }],
    keys: [{ id: 'ci', pool: 'team', secret_sha256: [DIGEST] }],
  };
}

export async function loadedFrom(draft: Draft, path = '/test/config.yaml'): Promise<LoadedConfig> {
  const bearers = Object.fromEntries((draft.accounts as { id: string }[]).map(({ id }) => [`BEARER_${id.toUpperCase()}`, bearerOf(id)]));
  const { HTTPS_PROXY, HTTP_PROXY, NO_PROXY } = process.env;
  const env = { HTTPS_PROXY, HTTP_PROXY, NO_PROXY, ...bearers, NODE_SECRET, OTHER_SECRET: 'secret-of-other-nodes' };
  const { config, findings, ...resolved } = await inspect(stringify(draft), { path, env });
  if (!config) throw new Error(findings.map(({ line, column, message }) => `${line}:${column}: ${message}`).join('\n'));
  return { config, path, ...resolved };
}
