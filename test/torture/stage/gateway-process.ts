// The attacked gateway: `serve` in a separate process, as an operator runs it, with a hook that reports its memory and moves its clocks.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { allocatorVariables, nodeFlags } from '../../../scripts/node-flags.mjs';
import { inTime } from '../../support/rehearsal-inbox.ts';
import { until } from '../../support/until.ts';

const MAIN = fileURLToPath(new URL('../../../proxy/main.ts', import.meta.url));
const START_MS = 60_000;
const STOP_MS = 15_000;

export interface HookOrder {
  /** `vitals` first collects garbage. */
  readonly order: 'vitals' | 'cpu' | 'stops' | 'set clock' | 'pass time';
  readonly ms?: number;
}

export interface Vitals {
  /** The bytes after a garbage collection. */
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
  /** The number of open TCP connections to clients and to accounts. */
  readonly sockets: number;
  readonly cpuMicroseconds: number;
}

export interface StartOptions {
  readonly config: string;
  readonly env: NodeJS.ProcessEnv;
  /** A command that runs the rest of its line elsewhere, such as in another namespace. */
  readonly inside?: readonly string[] | undefined;
  /** Gets the lines of stderr. Those of a process that could not start are only in the error. */
  readonly written: string[];
}

export class GatewayProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, urls: readonly [main: string, admin: string]) {
    this.#child = child;
    [this.url, this.adminUrl] = urls;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  }

  /** Resolves when it accepts connections. */
  static async start({ config, env, inside = [], written }: StartOptions): Promise<GatewayProcess> {
    const hook = fileURLToPath(new URL('./hook.ts', import.meta.url));
    const node = [
      ...nodeFlags(process.versions.node),
      '--expose-gc',
      '--import',
      import.meta.resolve('tsx/esm'),
      '--import',
      hook,
      MAIN,
      'serve',
      '--config',
      config,
    ];
    const [program = '', ...args] = [...inside, process.execPath, ...node];
    const child = spawn(program, args, {
      env: { ...allocatorVariables, ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    let [out, rest] = ['', ''];
    const from = written.length;
    child.stdout?.on('data', (text) => {
      out += text;
    });
    child.stderr?.on('data', (text) => {
      const [...whole] = (rest + text).split('\n');
      rest = whole.pop() ?? '';
      written.push(...whole);
    });
    const urls = await until(
      'the gateway to serve',
      () => {
        if (child.exitCode !== null)
          throw new Error(`the gateway ended with ${child.exitCode}: ${[...written.splice(from), rest].join('\n')}`);
        const [, main, admin] = /poolgate serves (http:\/\/[^,\s]+), admin (\S+)/.exec(out) ?? [];
        return main !== undefined && admin !== undefined ? ([main, admin] as const) : undefined;
      },
      START_MS,
    );
    return new GatewayProcess(child, urls);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  vitals(): Promise<Vitals> {
    return this.#ask({ order: 'vitals' });
  }

  /** The processor time so far in microseconds. */
  cpu(): Promise<number> {
    return this.#ask({ order: 'cpu' });
  }

  /** The longest time without its event loop since the last call, in milliseconds. */
  longestStop(): Promise<number> {
    return this.#ask({ order: 'stops' });
  }

  /** Sets its wall clock. No time passes. */
  async setWallClock(ms: number): Promise<void> {
    await this.#ask({ order: 'set clock', ms });
  }

  /** Advances all of its clocks. Timers are not affected. */
  async passTime(ms: number): Promise<void> {
    await this.#ask({ order: 'pass time', ms });
  }

  kill(): Promise<unknown> {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  /** Ends it in order. @throws Error if it does not end */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    const late = setTimeout(() => this.#child.kill('SIGKILL'), STOP_MS);
    const { code } = await this.ended;
    clearTimeout(late);
    return code;
  }

  async #ask<T>(order: HookOrder): Promise<T> {
    if (!this.isRunning) throw new Error('the gateway is not running');
    const answer = once(this.#child, 'message');
    this.#child.send(order);
    return (await inTime(answer, () => `an answer of the gateway's process to ${order.order}`))[0] as T;
  }
}
