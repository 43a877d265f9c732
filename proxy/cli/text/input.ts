// Reads answers to a command's questions, and texts that are pasted or piped, one line each. Questions are written to stderr, so that
// stdout can be piped.
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

export interface LineOptions {
  /** Whether the typed text is hidden. */
  readonly hidden?: boolean;
  /** Ends the wait, after which the result is undefined. */
  readonly signal?: AbortSignal;
}

export interface Input {
  /** Whether a person types the answers. */
  readonly isTerminal: boolean;
  /** The next line without its line break; undefined at the end of the input. */
  line(question: string, options?: LineOptions): Promise<string | undefined>;
}

export class LineInput implements Input {
  readonly isTerminal: boolean;
  readonly #stdin: NodeJS.Process['stdin'];
  readonly #stderr: NodeJS.Process['stderr'];
  readonly #lines: string[] = [];
  #reader: Interface | undefined;
  #isHidden = false;
  #isEnded = false;
  #waiting: ((line: string | undefined) => void) | undefined;

  constructor({ stdin, stderr }: Pick<NodeJS.Process, 'stdin' | 'stderr'>) {
    this.#stdin = stdin;
    this.#stderr = stderr;
    this.isTerminal = stdin.isTTY === true && stderr.isTTY === true;
  }

  async line(question: string, { hidden = false, signal }: LineOptions = {}): Promise<string | undefined> {
    const reader = this.#open();
    this.#stderr.write(question);
    this.#isHidden = hidden;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const stop = (): void => resolve(undefined);
    signal?.addEventListener('abort', stop, { once: true });
    if (this.#lines.length > 0 || this.#isEnded || signal?.aborted) resolve(signal?.aborted ? undefined : this.#lines.shift());
    else this.#waiting = resolve;
    reader.resume();
    const line = await promise;
    signal?.removeEventListener('abort', stop);
    this.#waiting = undefined;
    this.#isHidden = false;
    // A paused input does not keep the process alive.
    if (!this.#isEnded) reader.pause();
    if (hidden || !this.isTerminal) this.#stderr.write('\n');
    return line;
  }

  close(): void {
    this.#reader?.close();
  }

  #open(): Interface {
    if (this.#reader) return this.#reader;
    const echo = new Writable({
      write: (chunk: Buffer, _, done) => {
        if (!this.#isHidden) this.#stderr.write(chunk);
        done();
      },
    });
    const reader = createInterface({ input: this.#stdin, output: echo, terminal: this.isTerminal, prompt: '' });
    reader.on('line', (line) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (waiting) waiting(line);
      else this.#lines.push(line);
    });
    reader.on('close', () => {
      this.#isEnded = true;
      this.#waiting?.(undefined);
    });
    // Ctrl-C ends the command, as it does when no question waits.
    reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    this.#reader = reader;
    return reader;
  }
}
