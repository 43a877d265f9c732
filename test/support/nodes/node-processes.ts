// Several nodes as separate processes on one empty database, with the accounts of one upstream in the test.
import type { CounterName } from '../../../proxy/base/process/metrics.ts';
import { bearerOf, type Draft, draftFor, KEY, type Reply, type RequestOptions } from '../gateway.ts';
import { sendTo } from '../network/sent-requests.ts';
import { freshDatabase } from '../postgres/postgres.ts';
import { ServeProcess } from '../program/process.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../rehearsal.ts';
import { until } from '../until.ts';

export interface NodeProcessesOptions {
  readonly upstream?: UpstreamOptions;
  /** Edits the configuration of all nodes. */
  readonly config?: (draft: Draft) => void;
  /** Edits the file of one node, numbered from 1. */
  readonly file?: (draft: Draft, number: number) => void;
}

/** The longest start on a busy machine. */
const READY_MS = 60_000;

export class NodeProcess {
  readonly id: string;
  readonly #draft: Draft;
  readonly #secrets: Readonly<Record<string, string>>;
  #process: ServeProcess | undefined;
  url = '';
  adminUrl = '';

  constructor(draft: Draft, secrets: Readonly<Record<string, string>>) {
    this.id = draft.node.id;
    this.#draft = draft;
    this.#secrets = secrets;
  }

  /** Starts the node. Resolves when it is ready, or has ended. */
  async start(): Promise<void> {
    const started = await ServeProcess.start(this.#draft, this.#secrets);
    this.#process = started;
    const { main, admin } = await started.addresses();
    this.url = main;
    this.adminUrl = admin;
    await until(`${this.id} to be ready`, async () => ((await fetch(`${admin}/readyz`)).ok ? true : undefined), READY_MS);
  }

  send(path: string, init: RequestOptions = {}): Promise<Reply> {
    return sendTo({ url: this.url, key: KEY }, path, init);
  }

  /** The body of `/status`. */
  async status(): Promise<Reply['json']> {
    return (await fetch(`${this.adminUrl}/api/status`)).json();
  }

  /** A counter of `/metrics`. */
  async count(name: CounterName): Promise<number> {
    const metrics = await (await fetch(`${this.adminUrl}/metrics`)).text();
    const value = new RegExp(`^poolgate_${name}_total (\\d+)$`, 'm').exec(metrics)?.[1];
    if (value === undefined) throw new Error(`no counter ${name}`);
    return Number(value);
  }

  /** Edits the file, and reloads it. */
  async reconfigure(edit: (draft: Draft) => void): Promise<void> {
    edit(this.#draft);
    await this.#process?.save(this.#draft);
    const answer = await fetch(`${this.adminUrl}/api/reload`, { method: 'POST', headers: { 'x-poolgate-command': '1' } });
    if (!answer.ok) throw new Error(`${this.id} refused the file: ${await answer.text()}`);
  }

  get log(): string {
    return this.#process?.log ?? '';
  }

  /** Sends a signal. SIGSTOP and SIGCONT pause a node. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.signal(signal);
  }

  /** Ends the node, either like `kill -9` or in order. */
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
  /** The URL of the database. */
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
  const nodes = ids.map((id, i) => {
    const node = { id, listen: { host: '127.0.0.1', port: 0 }, secret: { env: 'NODE_SECRET' } };
    const its = { ...structuredClone(draft), node };
    options.file?.(its, i + 1);
    return new NodeProcess(its, secrets);
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
