// Every process that the measurement starts ends with it.
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const running = new Set<Child>();
const LINE_MS = 30_000;
const STOP_MS = 10_000;

const killAll = (): void => {
  for (const child of running) child.process.kill('SIGKILL');
};
process.on('exit', killAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1));

export class Child {
  readonly process: ChildProcess;
  readonly #command: string;
  readonly #lines: AsyncIterator<string, undefined>;
  readonly #ended: Promise<void>;

  constructor([program = '', ...args]: readonly string[], options: SpawnOptions = {}) {
    this.#command = [program, ...args].join(' ');
    this.process = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'], ...options });
    this.#lines = createInterface({ input: this.process.stdout as Readable })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.process.once('exit', () => resolve()).once('error', () => resolve()));
    running.add(this);
    void this.#ended.then(() => running.delete(this));
  }

  get pid(): number {
    return this.process.pid ?? 0;
  }

  /** Waits for the next line of its output that matches. @throws Error if the process ends first, or takes longer than `ms` and is ended */
  async line(pattern: RegExp, ms = LINE_MS): Promise<RegExpExecArray> {
    const deadline = setTimeout(() => this.process.kill('SIGKILL'), ms);
    try {
      for (;;) {
        const { value, done } = await this.#lines.next();
        if (done) throw new Error(`no line ${pattern} from: ${this.#command}`);
        const found = pattern.exec(value);
        if (found) return found;
      }
    } finally {
      clearTimeout(deadline);
    }
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.#ended;
  }

  /** Asks it to end, and kills it if it does not. */
  async stop(): Promise<void> {
    this.process.kill('SIGTERM');
    const insist = setTimeout(() => this.process.kill('SIGKILL'), STOP_MS);
    await this.#ended;
    clearTimeout(insist);
  }
}

/** The complete output of a command. @throws Error if the command fails */
export async function outputOf([program = '', ...args]: readonly string[]): Promise<string> {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'], timeout: LINE_MS * 4, killSignal: 'SIGKILL' });
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed`);
  return Buffer.concat(parts).toString('utf8');
}

/** Whether a program can be run at all. */
export async function installed(program: string): Promise<boolean> {
  return outputOf(['sh', '-c', `command -v ${program}`]).then(
    () => true,
    () => false,
  );
}
