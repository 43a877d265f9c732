// A worker from the side of the runner: a process that runs one file after another until it ends, hangs or has grown too large.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type FileResult, FileRun } from './file-run.ts';
import type { SentError, SentEvent, Usage } from './reporter.ts';

const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
const REPORTER = new URL('reporter.ts', import.meta.url).href;

/**
 * The space for new objects in MiB. Tests make many objects and keep few; with Node's default of 16, collection took a fifth of their
 * processor time.
 */
const NEW_SPACE_MIB = 64;

/** How long a process that has run its files may take to end. Node 24 sometimes waits forever for a thread with open requests. */
const END_MS = 10_000;

/** A process that holds more bytes than this after a file is replaced. */
const MEMORY_BYTES = 1e9;

export class WorkerProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<string>;
  readonly #files: string[] = [];
  #usage: Usage = { processorMs: 0, memoryBytes: 0 };

  constructor() {
    this.#child = fork(WORKER, {
      // The process has its own group, so processes that its tests started end with it.
      detached: true,
      silent: true,
      serialization: 'advanced',
      execArgv: [
        ...process.execArgv,
        `--max-semi-space-size=${NEW_SPACE_MIB}`,
        `--test-reporter=${REPORTER}`,
        '--test-reporter-destination=stdout',
      ],
    });
    this.#exit = once(this.#child, 'exit').then(([code, signal]) => `its process ended with ${signal ?? code}`);
  }

  get isWorn(): boolean {
    return !this.#child.connected || this.#usage.memoryBytes > MEMORY_BYTES;
  }

  async run(file: string, deadlineMs: number): Promise<FileResult> {
    const run = new FileRun(file);
    const [start, { processorMs }] = [performance.now(), this.#usage];
    const onOut = (bytes: Buffer) => run.printed('test:stdout', bytes);
    const onError = (bytes: Buffer) => run.printed('test:stderr', bytes);
    this.#child.stdout?.on('data', onOut);
    this.#child.stderr?.on('data', onError);
    let late: string | undefined;
    const deadline = setTimeout(() => {
      late = `it did not end within ${deadlineMs / 1000} s`;
      this.#kill();
    }, deadlineMs);
    const lost = await Promise.race([this.#lastEventOf(run), this.#exit]);
    clearTimeout(deadline);
    this.#child.stdout?.off('data', onOut);
    this.#child.stderr?.off('data', onError);
    const why = lost && `${late ?? lost}; ${run.place}${this.#earlier()}`;
    this.#files.push(file);
    return {
      file,
      events: run.events,
      uncaught: run.uncaught,
      lost: why,
      wallMs: performance.now() - start,
      processorMs: this.#usage.processorMs - processorMs,
    };
  }

  async end(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    const killing = setTimeout(() => this.#kill(), END_MS);
    await this.#exit;
    clearTimeout(killing);
    this.#kill();
  }

  /** Resolves when the test of the file itself has ended, after all tests in it. */
  #lastEventOf(run: FileRun): Promise<undefined> {
    return new Promise((resolve) => {
      const onMessage = (sent: SentEvent | SentError) => {
        if ('uncaught' in sent) {
          run.uncaught.push(sent.uncaught);
          return;
        }
        run.add(sent.event);
        if (sent.usage === undefined) return;
        this.#usage = sent.usage;
        this.#child.off('message', onMessage);
        resolve(undefined);
      };
      this.#child.on('message', onMessage);
      this.#child.send(run.file);
    });
  }

  #earlier(): string {
    return this.#files.length === 0 ? '' : `\nThe process had run:\n${this.#files.map((file) => `  ${file}\n`).join('')}`;
  }

  #kill(): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      // All processes of the group have already ended.
    }
  }
}
