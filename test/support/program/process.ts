// The gateway as a separate process: `serve` with a file in a temporary folder, its output, its signals and its exit.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { bearerOf, DIGEST, type Draft } from '../gateway.ts';
import type { Upstream } from '../rehearsal.ts';
import { COMMAND } from './program-run.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export class ServeProcess {
  readonly folder: string;
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcessWithoutNullStreams;
  #out = '';
  #err = '';

  private constructor(folder: string, child: ChildProcessWithoutNullStreams) {
    this.folder = folder;
    this.#child = child;
    child.stdout.on('data', (text) => {
      this.#out += text;
    });
    child.stderr.on('data', (text) => {
      this.#err += text;
    });
    this.ended = once(child, 'close').then(([code, signal]) => ({ code, signal, out: this.#out, err: this.#err }));
  }

  /** @param file the text of config.yaml, or its content @param secrets the variables that the file refers to */
  static async start(file: string | Draft, secrets: Readonly<Record<string, string>> = {}): Promise<ServeProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'poolgate-serve-'));
    const path = join(folder, 'config.yaml');
    await writeFile(path, textOf(file));
    const env = { ...process.env, BEARER_NORTH: bearerOf('north'), ...secrets };
    const child = spawn(process.execPath, [...COMMAND, 'serve', '--config', path], { cwd: ROOT, env });
    return new ServeProcess(folder, child);
  }

  /** The start-up line. Resolves when connections are accepted. */
  async line(): Promise<string> {
    const over = this.ended.then(({ code, err }) => Promise.reject(new Error(`it ended with ${code}: ${err}`)));
    while (!this.#out.includes('\n')) await Promise.race([once(this.#child.stdout, 'data'), over]);
    over.catch(() => undefined);
    return this.#out;
  }

  /** Both addresses in the start-up line. */
  async addresses(): Promise<{ readonly main: string; readonly admin: string }> {
    const [, main = '', admin = ''] = /^poolgate serves (\S+), admin (\S+)\n/.exec(await this.line()) ?? [];
    return { main, admin };
  }

  /** The text of its log so far. */
  get log(): string {
    return this.#err;
  }

  /** Replaces the configuration file. */
  async save(file: string | Draft): Promise<void> {
    await writeFile(join(this.folder, 'config.yaml'), textOf(file));
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
    await rm(this.folder, { recursive: true });
  }
}

const textOf = (file: string | Draft): string => (typeof file === 'string' ? file : stringify(file));

/** A configuration with one account of the upstream, and the tests' key. */
export const draftAt = (upstream: Upstream, more: Draft = {}, account = 'north'): Draft => ({
  listen: { host: '127.0.0.1', port: 0 },
  admin: { host: '127.0.0.1', port: 0 },
  store: 'sqlite:data/poolgate.db',
  accounts: [{ id: 'north', label: 'North', base_url: upstream.urlOf(account), credential: { bearer: { env: 'BEARER_NORTH' } } }],
  pools: [{ id: 'team', label: 'Team', assignments: [{ account: 'north' }] }],
  keys: [{ id: 'ci', pool: 'team', secret_sha256: [DIGEST] }],
  ...more,
});
