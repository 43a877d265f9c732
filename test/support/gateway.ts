// A running gateway for a test: real sockets, the rehearsal provider behind it, every port 0, one temporary store.
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
import { Probes } from './probes.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from './rehearsal.ts';

export const KEY = 'pg-test-key';
export const DIGEST = hash('sha256', KEY, 'hex');

/** The secret of each account `NAME` in tests: the credential that must be sent only to its own account. */
export const bearerOf = (account: string): string => `bearer-of-${account}`;

/** config.yaml as an object that a test edits. */
// biome-ignore lint/suspicious/noExplicitAny: a draft of a file may be wrong in any way
export type Draft = Record<string, any>;

/** What signs the requests between the nodes of a test. */
export const NODE_SECRET = 'node-secret-of-the-tests';

export interface GatewayOptions {
  readonly upstream?: UpstreamOptions;
  /** Edits the configuration before it is loaded. */
  readonly config?: (draft: Draft) => void;
  /** Where the configuration is written, so that it can be edited and reloaded; by default there is no file. */
  readonly path?: string;
  readonly clock?: Clock;
  /** What `openStore` takes; in memory by default. `freshDatabase()` is one that several gateways may share. */
  readonly store?: string;
  /** The load of the process as the guard sees it; without it the guard is off: a busy machine changes no test. */
  readonly load?: ProcessLoad;
  /** The API of each account; by default that of the product. */
  readonly providerOf?: ProviderOf;
  /** Surfaces beside the shipped ones. */
  readonly surfaces?: readonly Surface[];
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
}

export interface RequestOptions {
  /** POST if there is a body. */
  readonly method?: string;
  /** A body that is neither text nor bytes is sent as JSON. */
  readonly body?: unknown;
  /** `authorization` among them is another key than the test key. */
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

/** A request with the test key. */
export function fetchFrom(url: string, path: string, { method, body, headers = {}, signal }: RequestOptions = {}): Promise<Response> {
  const text = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  return fetch(url + path, {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${KEY}`, ...type, ...headers },
    ...(text === undefined ? {} : { body: text }),
    ...(signal ? { signal } : {}),
  });
}

/** The whole answer of such a request. */
export async function sendTo(url: string, path: string, init: RequestOptions = {}): Promise<Reply> {
  const response = await fetchFrom(url, path, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: jsonOrUndefined(text) };
}

export class TestGateway extends Probes {
  readonly upstream: Upstream;
  readonly url: string;
  readonly adminUrl: string;
  /** Of a gateway with a metrics listener. */
  readonly metricsUrl: string;
  /** Every line that the operator log got. */
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
    return fetchFrom(this.url, path, init);
  }

  send(path: string, init: RequestOptions = {}): Promise<Reply> {
    return sendTo(this.url, path, init);
  }

  /** Edits the running configuration, as an operator's saved file would. */
  async reconfigure(edit: (draft: Draft) => void): Promise<void> {
    edit(this.#draft);
    await this.gateway.reload(await loadedFrom(this.#draft, this.gateway.loaded.path));
  }

  /** The credential files are read again, as after a log-in of the operator. */
  refresh(): Promise<void> {
    return this.gateway.refresh();
  }

  /** Stops the gateway in order and starts it again over the same store and the same accounts. Needs a store in a file or a database. */
  async restarted(options: Pick<GatewayOptions, 'clock'> = {}): Promise<TestGateway> {
    await this.stop();
    return this.#running(this.gateway.loaded, this.#draft, options);
  }

  /**
   * A second gateway over the same store and the same accounts. Needs a store in a file, or a database: there it is another node.
   * @param options `config` edits a copy of this one's configuration
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

  /** Stops the gateway in order; its accounts keep running. */
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
    // The start of a thread takes ten times the processor time of a gateway's.
    startRehearsal: startConfigured,
  });
  const { main, admin, metrics } = await gateway.listen();
  const url = `http://127.0.0.1:${main?.port}`;
  const [adminUrl, metricsUrl] = [`http://127.0.0.1:${admin?.port}`, `http://127.0.0.1:${metrics?.port}`];
  const gate = new TestGateway({ gateway, upstream, url, adminUrl, metricsUrl, logged, draft });
  await gate.ready();
  return gate;
}

/** A file with these accounts of the upstream, one Pool of them, and the tests' key. */
export async function draftFor(
  accounts: readonly string[],
  upstream: Upstream,
  { store = 'sqlite::memory:', load }: GatewayOptions,
): Promise<Draft> {
  const settings = store.startsWith('sqlite:')
    ? { store }
    : { ...(await (await import('./postgres.ts')).postgres()).settings(store), node: { id: nextNode() } };
  return {
    ...settings,
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    timeouts: { drain_ms: 1000 },
    // Room for the usual number is allocated at each start.
    limits: { pins_in_memory: 1_000 },
    ...(load ? {} : { guard: { event_loop_ms: 0, memory_percent: 0 } }),
    accounts: accounts.map((id) => ({
      id,
      label: id.toUpperCase(),
      base_url: upstream.urlOf(id),
      credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } },
    })),
    // In configuration order, so that a test can predict the account of a turn.
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

export interface SseEvent {
  readonly event: string | undefined;
  /** Parsed JSON, or the text itself if it is none, as in `[DONE]`. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly data: any;
}

/** The events of an SSE text; comments are left out. */
export function eventsOf(text: string): readonly SseEvent[] {
  return text
    .split(/\r\n\r\n|\n\n|\r\r/)
    .map((block) => block.split(/\r\n|\n|\r/))
    .flatMap((lines) => {
      const field = (name: string): string[] =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).replace(/^ /, ''));
      const data = field('data');
      return data.length === 0 ? [] : [{ event: field('event')[0], data: jsonOrUndefined(data.join('\n')) ?? data.join('\n') }];
    });
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
