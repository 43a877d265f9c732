// Every process that the measurement starts, each of which ends with it, whatever happens.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

const running = new Set<ChildProcess>();
const STARTING_MS = 30_000;

process.on('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

export function killAll(): void {
  for (const child of running) child.kill('SIGKILL');
}

export interface Child {
  readonly process: ChildProcess;
  readonly pid: number;
  /** The next line of its output that matches; rejects when it ends before, or takes too long. */
  line(pattern: RegExp, ms?: number): Promise<RegExpExecArray>;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Asks it to end, and insists after a while. */
  stop(): Promise<void>;
}

export function start([program = '', ...args]: readonly string[], options: SpawnOptions = {}): Child {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], ...options });
  running.add(child);
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      running.delete(child);
      resolve();
    };
    child.once('exit', end).once('error', end);
  });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const tell = (): void => {
    for (const look of waiting) look();
  };
  if (child.stdout) createInterface({ input: child.stdout }).on('line', (line) => void lines.push(line) ?? tell()).on('close', tell);
  const whenGone = ended.then(() => setImmediate(tell));
  void whenGone;

  return {
    process: child,
    pid: child.pid ?? 0,
    line(pattern, ms = STARTING_MS) {
      return new Promise((resolve, reject) => {
        const settle = (done: () => void): void => {
          waiting.delete(look);
          clearTimeout(timer);
          done();
        };
        const timer = setTimeout(() => settle(() => reject(new Error(`${program} ${args.join(' ')}: no line ${pattern} in ${ms} ms`))), ms);
        const look = (): void => {
          for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
            const found = pattern.exec(line);
            if (found) return settle(() => resolve(found));
          }
          const over = child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
          if (over && child.stdout?.readableEnded !== false) settle(() => reject(new Error(`${program} ${args.join(' ')} ended`)));
          return undefined;
        };
        waiting.add(look);
        look();
      });
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
    async stop() {
      child.kill('SIGTERM');
      const insist = setTimeout(() => child.kill('SIGKILL'), 5_000);
      await ended;
      clearTimeout(insist);
    },
  };
}

/** Runs a command to its end; its whole output. */
export async function output(command: readonly string[], options: SpawnOptions = {}): Promise<string> {
  const child = start(command, options);
  const parts: Buffer[] = [];
  child.process.stdout?.on('data', (part: Buffer) => parts.push(part));
  const [code] = (await once(child.process, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command.join(' ')} ended with ${code}`);
  return Buffer.concat(parts).toString('utf8');
}
