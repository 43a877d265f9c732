// Several nodes as operators run them: processes of their own over one fresh database, with the accounts of one upstream in the test.
import { bearerOf, type Draft, draftFor, KEY } from './gateway.ts';
import { freshDatabase } from './postgres.ts';
import { ServeProcess } from './process.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from './rehearsal.ts';
import { until } from './until.ts';

export interface NodeProcessesOptions {
  readonly upstream?: UpstreamOptions;
  /** Edits the configuration that all nodes have. */
  readonly config?: (draft: Draft) => void;
}

export interface NodeReply {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
}

/** Of a start on a busy machine. */
const READY_MS = 60_000;

export class NodeProcess {
  readonly id: string;
  readonly #start: () => Promise<ServeProcess>;
  #process: ServeProcess | undefined;
  url = '';
  adminUrl = '';

  constructor(id: string, start: () => Promise<ServeProcess>) {
    this.id = id;
    this.#start = start;
  }

  /** Resolves when it is ready; also after it ended. */
  async start(): Promise<void> {
    const started = await this.#start();
    this.#process = started;
    const { main, admin } = await started.addresses();
    this.url = main;
    this.adminUrl = admin;
    await until(`${this.id} to be ready`, async () => ((await fetch(`${admin}/readyz`)).ok ? true : undefined), READY_MS);
  }

  /** With the tests' key; `authorization` among the headers is another one. */
  async send(path: string, body?: object, headers: Readonly<Record<string, string>> = {}): Promise<NodeReply> {
    const response = await fetch(this.url + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${KEY}`, ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text.startsWith('{') ? JSON.parse(text) : text };
  }

  /** The reply of `/status`. */
  async status(): Promise<NodeReply['json']> {
    return (await fetch(`${this.adminUrl}/status`)).json();
  }

  get log(): string {
    return this.#process?.log ?? '';
  }

  /** SIGSTOP and SIGCONT: a node that is paused. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.signal(signal);
  }

  /** As `kill -9` ends it, or in order. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = this.#process;
    this.#process = undefined;
    ending?.signal(signal);
    await ending?.ended;
    await ending?.[Symbol.asyncDispose]();
  }
}

export interface NodeProcesses extends AsyncDisposable {
  readonly nodes: readonly NodeProcess[];
  readonly upstream: Upstream;
  /** Of the database. */
  readonly url: string;
}

/** Starts nodes with these ids together. `await using` ends them and their accounts. */
export async function startNodeProcesses(ids: readonly string[], options: NodeProcessesOptions = {}): Promise<NodeProcesses> {
  const named = (options.upstream?.accounts ?? ['north', 'south']).map((account) =>
    typeof account === 'string' ? { id: account } : account,
  );
  const accounts = named.map((account) => ({ credential: bearerOf(account.id), ...account }));
  const upstream = await startUpstream({ ...options.upstream, accounts });
  const url = await freshDatabase();
  const names = accounts.map(({ id }) => id);
  const draft = await draftFor(names, upstream, { store: url });
  options.config?.(draft);
  const secrets = {
    ...Object.fromEntries(names.map((id) => [`BEARER_${id.toUpperCase()}`, bearerOf(id)])),
    NODE_SECRET: 'secret-of-the-nodes',
  };
  const nodes = ids.map((id) => {
    const node = { id, listen: { host: '127.0.0.1', port: 0 }, secret: { env: 'NODE_SECRET' } };
    return new NodeProcess(id, () => ServeProcess.start({ ...draft, node }, secrets));
  });
  const end = async (): Promise<void> => {
    await Promise.all(nodes.map((node) => node.end('SIGKILL')));
    await upstream.close();
  };
  await Promise.all(nodes.map((node) => node.start())).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return { nodes, upstream, url, [Symbol.asyncDispose]: end };
}
