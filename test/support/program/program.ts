// The program as an operator runs it, with a separate file, and with accounts that the test scripts.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { poolgate, type Ran } from '../../cli/run.ts';
import { bearerOf, DIGEST, type Draft, KEY } from '../gateway.ts';
import { portOfOurs } from '../network/ports.ts';
import { startUpstream, type Upstream, type UpstreamOptions } from '../rehearsal.ts';
import { until } from '../until.ts';
import { type ProgramRun, runHere, runProcess, type Written } from './program-run.ts';

/** One line of the operator log. */
// biome-ignore lint/suspicious/noExplicitAny: each event has fields of its own
export type Line = Readonly<Record<string, any>>;

export interface ProgramOptions {
  /** Whether it runs in the process of the test, for tests that need no separate process. */
  readonly here?: boolean;
  readonly upstream?: UpstreamOptions;
  /** Edits the configuration before it is written. */
  readonly config?: (draft: Draft) => void;
  /** Edits the configuration after the addresses of the accounts are known. */
  readonly urls?: (draft: Draft, upstream: Upstream) => void;
  /** Returns the path of the file in a temporary folder. Default: `config.yaml`. @param text the content of the file */
  readonly place?: (folder: string, text: string) => string;
}

export class Program {
  readonly upstream: Upstream;
  readonly folder: string;
  /** The path of the configuration file. */
  readonly path: string;
  readonly draft: Draft;
  readonly #written: Written = { out: '', err: '' };
  readonly #start: typeof runProcess;
  #run: ProgramRun | undefined;

  constructor(parts: {
    readonly upstream: Upstream;
    readonly folder: string;
    readonly path: string;
    readonly draft: Draft;
    readonly here: boolean;
  }) {
    this.#start = parts.here ? runHere : runProcess;
    this.upstream = parts.upstream;
    this.folder = parts.folder;
    this.path = parts.path;
    this.draft = parts.draft;
  }

  get url(): string {
    return this.#run?.url ?? '';
  }

  /** Everything that the program wrote. */
  get written(): string {
    return this.#written.out + this.#written.err;
  }

  /** The log lines of one event, or all. */
  lines(event?: string): readonly Line[] {
    const lines = this.#written.err.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line) as Line).filter((line) => event === undefined || line.event === event);
  }

  /** The next line of this event after the first `count` lines of it. */
  line(event: string, count = 0): Promise<Line> {
    return until(`a log line ${event}`, () => this.lines(event)[count]);
  }

  async run(): Promise<void> {
    this.#run = await this.#start(this.path, { BEARER_NORTH: bearerOf('north'), BEARER_SOUTH: bearerOf('south') }, this.#written);
  }

  /** Edits the file, and replaces it atomically. */
  save(edit: (draft: Draft) => void = () => undefined): void {
    edit(this.draft);
    writeFileSync(this.path, stringify(this.draft));
  }

  /** Edits the file, and moves the new one into its place, so that the file is never incomplete. */
  replace(edit: (draft: Draft) => void): void {
    edit(this.draft);
    const draft = join(this.folder, 'draft.yaml');
    writeFileSync(draft, stringify(this.draft));
    renameSync(draft, this.path);
  }

  fetch(
    path: string,
    { key = KEY, ...init }: { key?: string; method?: string; body?: unknown; signal?: AbortSignal } = {},
  ): Promise<Response> {
    const { body, method = body === undefined ? 'GET' : 'POST', signal } = init;
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    return fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${key}`, ...type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
  }

  async status(path: string, init: Parameters<Program['fetch']>[1] = {}): Promise<number> {
    const response = await this.fetch(path, init);
    await response.arrayBuffer();
    return response.status;
  }

  /** Runs a command with this file. */
  poolgate(...args: readonly string[]): Promise<Ran> {
    return poolgate([...args, '--config', this.path]);
  }

  signal(name: NodeJS.Signals): void {
    this.#run?.signal(name);
  }

  /** Ends the program like a crash. Resolves when it has ended. */
  async kill(): Promise<void> {
    await this.#run?.kill();
  }

  /** Closes the reading end of the log. */
  closeLog(): void {
    this.#run?.closeLog();
  }

  /** Ends the program in order. Resolves with its exit code. */
  async stop(): Promise<number | null> {
    return (await this.#run?.stop()) ?? null;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    await this.upstream.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Starts the program with the accounts `north` and `south`, and a Pool `team` with the tests' key. `await using` ends it. */
export async function startProgram({ here = false, upstream: accounts, config, urls, place }: ProgramOptions = {}): Promise<Program> {
  const upstream = await startUpstream({
    accounts: ['north', 'south'].map((id) => ({ id, credential: bearerOf(id) })),
    ...accounts,
  });
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-program-'));
  const draft: Draft = {
    listen: { port: 0 },
    admin: { port: await portOfOurs() },
    timeouts: { drain_ms: 500 },
    accounts: ['north', 'south'].map((id) => ({
      id,
      base_url: upstream.urlOf(id),
      credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } },
    })),
    pools: [{ id: 'team', assignments: [{ account: 'north' }, { account: 'south' }] }],
    keys: [{ id: 'ci', pool: 'team', secret_sha256: [DIGEST] }],
  };
  config?.(draft);
  urls?.(draft, upstream);
  const path = place?.(folder, stringify(draft)) ?? join(folder, 'config.yaml');
  if (!place) writeFileSync(path, stringify(draft));
  const program = new Program({ upstream, folder, path, draft, here });
  try {
    await program.run();
  } catch (error) {
    await program[Symbol.asyncDispose]();
    throw error;
  }
  return program;
}
