// The run of one file: the events of its tests and the output of its process, up to its last test or the end of the process.
import type { TestEvent } from 'node:test/reporters';

export interface FileResult {
  readonly file: string;
  /** The events in the order of a report. */
  readonly events: readonly TestEvent[];
  /** The reason if the file has no end of its own, because its process ended or was ended. */
  readonly lost: string | undefined;
  /** Errors that no test has caught. */
  readonly uncaught: readonly string[];
  readonly wallMs: number;
  /** The processor time of the process that ran it; on Linux it includes that of the programs that it started. */
  readonly processorMs: number;
}

export class FileRun {
  readonly file: string;
  readonly events: TestEvent[] = [];
  readonly uncaught: string[] = [];
  readonly #running = new Map<number, string>();
  #ended: string | undefined;

  constructor(file: string) {
    this.file = file;
  }

  add(event: TestEvent): void {
    if (event.type === 'test:dequeue') this.#running.set(event.data.testId, event.data.name);
    else if (event.type === 'test:complete') {
      this.#running.delete(event.data.testId);
      this.#ended = event.data.name;
    } else this.events.push(event);
  }

  printed(type: 'test:stdout' | 'test:stderr', bytes: Buffer): void {
    this.events.push({ type, data: { file: this.file, message: bytes.toString() } });
  }

  /**
   * The place that the file has reached: the tests that have begun and not ended, the outermost first; if there are none, the last test
   * that ended.
   */
  get place(): string {
    const [, ...titles] = this.#running.values();
    if (titles.length > 0) return `in: ${titles.join(' › ')}`;
    return this.#ended === undefined ? 'before its first test' : `after: ${this.#ended}`;
  }
}
