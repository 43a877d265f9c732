// One run of the program with a file. It is a separate process, as an operator starts it, or runs in the process of the test, which takes a
// twentieth of the processor time and serves and follows its file in the same way. Signals, exit codes and crashes need a separate process.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Log } from '../../../proxy/base/process/log.ts';
import { stateOf } from '../../../proxy/config/file/file-watch.ts';
import { loadConfig } from '../../../proxy/config/loading/load.ts';
import { Gateway } from '../../../proxy/gateway/gateway.ts';
import { nodeFlags } from '../../../scripts/node-flags.mjs';
import { until } from '../until.ts';
import { HandLoad } from './hand-load.ts';

/** The command like `npx poolgate`, without the check for a Node that is new enough. */
export const COMMAND: readonly string[] = [
  ...nodeFlags(process.versions.node),
  fileURLToPath(new URL('../../../proxy/main.ts', import.meta.url)),
];

/** The longest start on a busy machine. */
const START_MS = 60_000;

/** The output of all runs of a program. */
export interface Written {
  out: string;
  err: string;
}

export interface ProgramRun {
  readonly url: string;
  signal(name: NodeJS.Signals): void;
  /** Closes the reading end of the log. */
  closeLog(): void;
  /** Ends the run like a crash. Resolves when it has ended. */
  kill(): Promise<void>;
  /** Ends the run in order. Resolves with its exit code. */
  stop(): Promise<number | null>;
}

class ProcessRun implements ProgramRun {
  readonly url: string;
  readonly #child: ChildProcess;

  constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  closeLog(): void {
    this.#child.stderr?.destroy();
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exit = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exit;
  }

  async stop(): Promise<number | null> {
    if (this.#child.exitCode !== null) return this.#child.exitCode;
    const exit = new Promise<number | null>((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGTERM');
    return exit;
  }
}

/** Starts a process. Resolves when it serves. */
export async function runProcess(path: string, env: NodeJS.ProcessEnv, written: Written): Promise<ProgramRun> {
  const child = spawn(process.execPath, [...COMMAND, 'serve', '--config', path], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const from = written.out.length;
  child.stdout.on('data', (text) => {
    written.out += text;
  });
  child.stderr.on('data', (text) => {
    written.err += text;
  });
  const started = () => {
    if (child.exitCode !== null) throw new Error(`the program ended: ${written.out}${written.err}`);
    return /poolgate serves ([^,\s]+)/.exec(written.out.slice(from))?.[1];
  };
  try {
    return new ProcessRun(child, await until('the program to serve', started, START_MS));
  } catch (error) {
    await new ProcessRun(child, '').kill();
    throw error;
  }
}

class RunHere implements ProgramRun {
  readonly url: string;
  readonly #end: () => Promise<boolean>;
  #ended: Promise<boolean> | undefined;

  constructor(url: string, end: () => Promise<boolean>) {
    this.url = url;
    this.#end = end;
  }

  signal(): never {
    throw new Error('the process of the test gets no signals');
  }

  closeLog(): never {
    throw new Error('the log is in the process of the test');
  }

  async kill(): Promise<void> {
    await this.stop();
  }

  async stop(): Promise<number> {
    this.#ended ??= this.#end();
    return (await this.#ended) ? 0 : 1;
  }
}

/** Runs the gateway in this process like `serve`, with the load of an idle process, so that a busy machine does not affect tests. */
export async function runHere(path: string, env: NodeJS.ProcessEnv, written: Written): Promise<ProgramRun> {
  const before = Object.keys(env).map((name) => [name, process.env[name]] as const);
  // Set on the process, because each reload reads the variables.
  Object.assign(process.env, env);
  const state = stateOf(path);
  const { loaded } = await loadConfig(path);
  const log = new Log(loaded.config.log.level, (line) => {
    written.err += line;
  });
  const gateway = await Gateway.open({ loaded, log, load: new HandLoad() });
  const { main } = await gateway.listen();
  void gateway.follower.started();
  const unwatch = gateway.follower.watch(state);
  const { address, port } = main as AddressInfo;
  return new RunHere(`http://${address}:${port}`, async () => {
    unwatch();
    const isWhole = await gateway.close();
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    return isWhole;
  });
}
