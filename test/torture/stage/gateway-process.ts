// The attacked gateway: `serve` in a process of its own, as an operator runs it, with a hook that tells its memory and moves its clock.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { inTime } from '../../support/rehearsal-inbox.ts';
import { until } from '../../support/until.ts';

const MAIN = fileURLToPath(new URL('../../../proxy/main.ts', import.meta.url));
const START_MS = 30_000;
const STOP_MS = 15_000;

export interface HookOrder {
  /** `vitals` also collects garbage first. */
  readonly order: 'vitals' | 'cpu' | 'shift clock';
  readonly ms?: number;
}

export interface Vitals {
  /** Bytes, after garbage was collected. */
  readonly heapUsed: number;
  readonly external: number;
  readonly rss: number;
  /** Open connections over TCP, to clients and to accounts. */
  readonly sockets: number;
  readonly cpuMicroseconds: number;
}

export interface LogLine {
  readonly level: string;
  readonly event: string;
  readonly [field: string]: unknown;
}

export class GatewayProcess {
  readonly url: string;
  readonly adminUrl: string;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #child: ChildProcess;
  readonly #lines: string[];

  private constructor(child: ChildProcess, lines: string[], urls: readonly [main: string, admin: string]) {
    this.#child = child;
    this.#lines = lines;
    [this.url, this.adminUrl] = urls;
    this.ended = new Promise((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })));
  }

  /**
   * Resolves once it accepts connections.
   * @param inside a command that runs the rest of its line elsewhere, such as in another namespace
   */
  static async start(config: string, env: NodeJS.ProcessEnv, inside: readonly string[] = []): Promise<GatewayProcess> {
    const hook = fileURLToPath(new URL('./hook.ts', import.meta.url));
    const node = ['--expose-gc', '--import', import.meta.resolve('tsx/esm'), '--import', hook, MAIN, 'serve', '--config', config];
    const [program = '', ...args] = [...inside, process.execPath, ...node];
    const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const lines: string[] = [];
    let [out, rest] = ['', ''];
    child.stdout?.on('data', (text) => {
      out += text;
    });
    child.stderr?.on('data', (text) => {
      const [...whole] = (rest + text).split('\n');
      rest = whole.pop() ?? '';
      lines.push(...whole);
    });
    const urls = await until(
      'the gateway to serve',
      () => {
        if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}: ${[...lines, rest].join('\n')}`);
        const [, main, admin] = /poolgate serves (http:\/\/[^,\s]+), admin (\S+)/.exec(out) ?? [];
        return main !== undefined && admin !== undefined ? ([main, admin] as const) : undefined;
      },
      START_MS,
    );
    return new GatewayProcess(child, lines, urls);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What stands on its stderr: lines of its log, and in `other` what no log line is, such as a warning of Node. */
  get written(): { readonly log: readonly LogLine[]; readonly other: readonly string[] } {
    const log = this.#lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as LogLine);
    return { log, other: this.#lines.filter((line) => !line.startsWith('{')) };
  }

  vitals(): Promise<Vitals> {
    return this.#ask({ order: 'vitals' });
  }

  /** Processor time so far, in microseconds. */
  cpu(): Promise<number> {
    return this.#ask({ order: 'cpu' });
  }

  /** Its wall clock from now on; timers are not moved. */
  async shiftClock(ms: number): Promise<void> {
    await this.#ask({ order: 'shift clock', ms });
  }

  kill(): Promise<unknown> {
    this.#child.kill('SIGKILL');
    return this.ended;
  }

  /** Ends it in order. @throws Error where it does not end */
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
