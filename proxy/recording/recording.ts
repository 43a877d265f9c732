// A recording in progress. It numbers its exchanges, and writes what was recorded so far to its file, redacted.
import { rename, writeFile } from 'node:fs/promises';
import { type Exchange, FIXTURE_VERSION, type Fixture, fixtureText } from './fixture.ts';
import { Redactor } from './redactor.ts';
import { coarse } from './timing.ts';

/** The most exchanges of one recording. Later ones are only relayed. */
const MAX_EXCHANGES = 2_000;

export interface RecordingOptions {
  /** The path of the file, which only its owner may read. */
  readonly path: string;
  /** Names of members that are kept, although they are not protocol words. */
  readonly keep?: readonly string[];
  /** Monotonic milliseconds, and Unix milliseconds. */
  readonly now?: () => number;
  readonly wallClock?: () => number;
}

export class Recording {
  readonly redactor: Redactor;
  readonly now: () => number;
  readonly #path: string;
  readonly #startedAt: number;
  /** The exchanges in the order in which they began. Undefined while one runs. */
  readonly #exchanges: (Exchange | undefined)[] = [];
  #leftOut = 0;
  #writing: Promise<void> = Promise.resolve();

  constructor({ path, keep = [], now = () => performance.now(), wallClock = Date.now }: RecordingOptions) {
    this.#path = path;
    this.now = now;
    this.#startedAt = now();
    this.redactor = new Redactor({ keep, now: () => wallClock() / 1000 });
  }

  /** The number of exchanges that have ended. */
  get count(): number {
    return this.#exchanges.filter((exchange) => exchange !== undefined).length;
  }

  /** Begins an exchange. @returns a function to call with the exchange when it has ended; undefined if the recording is full */
  begin(): ((exchange: Omit<Exchange, 'at_ms'>) => Promise<void>) | undefined {
    if (this.#exchanges.length >= MAX_EXCHANGES) {
      this.#leftOut += 1;
      return undefined;
    }
    const at_ms = coarse(this.now() - this.#startedAt);
    const index = this.#exchanges.push(undefined) - 1;
    return (exchange) => {
      this.#exchanges[index] = { at_ms, ...exchange };
      return this.write();
    };
  }

  /** Replaces the file. If the recorder is killed, the file has the exchanges that had ended. */
  write(): Promise<void> {
    this.#writing = this.#writing.then(() => this.#replace());
    return this.#writing;
  }

  async #replace(): Promise<void> {
    const exchanges = this.#exchanges.filter((exchange) => exchange !== undefined);
    const fixture: Fixture = { format: 'poolgate-recording', version: FIXTURE_VERSION, left_out: this.#leftOut, exchanges };
    const next = `${this.#path}.new`;
    await writeFile(next, fixtureText(fixture), { mode: 0o600 });
    await rename(next, this.#path);
  }
}
