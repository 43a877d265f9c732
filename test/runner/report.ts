// The report of all files: the tree of their tests, file by file, then the sums and the failures.
import { PassThrough } from 'node:stream';
import { spec, type TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';
import type { FileResult } from './file-run.ts';
import type { TestError } from './reporter.ts';

type Result = Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>;

const CANCELLED: readonly (string | undefined)[] = ['cancelledByParent', 'testTimeoutFailure', 'testAborted'];

const SUBTESTS_FAILED = 'subtestsFailed';

const errorOf = (event: Result): TestError => ('error' in event.data.details ? event.data.details.error : {}) as TestError;

interface Begun {
  readonly name: string;
  readonly nesting: number;
}

/** The failure of a file that has no end of its own, or of a test of that file that contains other tests. */
const failure = ({ name, nesting }: Begun, durationMs: number, error: TestError) => ({
  type: 'test:fail',
  data: { name, nesting, details: { duration_ms: durationMs, error: { code: 'ERR_TEST_FAILURE', ...error } } },
});

/** Prints the text of an error unchanged. */
const asIs = (text: unknown) => ({ [inspect.custom]: () => text });

/** The event as the report prints it; the test that represents a file has no file name. */
function readable(event: Result): object {
  const { file, ...data } = event.data;
  const error = errorOf(event);
  const details = { ...data.details, error: { ...error, cause: asIs(error.cause) } };
  return { ...event, data: { ...data, ...(data.nesting > 0 ? { file } : {}), ...(event.type === 'test:fail' ? { details } : {}) } };
}

export class Report {
  readonly #events = new PassThrough({ objectMode: true });
  readonly #printed: Promise<void>;
  readonly #sums = { tests: 0, suites: 0, pass: 0, fail: 0, cancelled: 0, skipped: 0, todo: 0 };

  constructor() {
    const text = this.#events.compose(spec);
    text.pipe(process.stdout);
    this.#printed = new Promise((resolve) => text.once('end', resolve));
  }

  get hasFailed(): boolean {
    return this.#sums.fail + this.#sums.cancelled > 0;
  }

  add({ file, events, lost, uncaught, wallMs }: FileResult): void {
    const open: Begun[] = [];
    for (const event of events) {
      if (event.type === 'test:start') open.push(event.data);
      if (event.type === 'test:pass' || event.type === 'test:fail') {
        open.pop();
        this.#count(event);
        this.#events.write(readable(event));
      } else {
        this.#events.write(event);
      }
    }
    if (lost !== undefined) this.#fail(file, lost, wallMs, open);
    for (const error of uncaught) this.#fail(`${file}: an error that no test has caught`, error, wallMs);
  }

  /** @param open the tests whose beginning is reported, beginning with the file */
  #fail(name: string, why: string, durationMs: number, open: readonly Begun[] = []): void {
    this.#sums.tests++;
    this.#sums.fail++;
    const own = { name, nesting: 0 };
    if (open.length === 0) this.#events.write({ type: 'test:start', data: own });
    for (const test of open.slice(1).reverse()) this.#events.write(failure(test, durationMs, { failureType: SUBTESTS_FAILED }));
    this.#events.write(failure(own, durationMs, { failureType: 'testCodeFailure', cause: asIs(why) }));
  }

  /** Resolves when everything has been printed. */
  async end(durationMs: number): Promise<void> {
    for (const [name, sum] of Object.entries({ ...this.#sums, duration_ms: Math.round(durationMs) })) {
      this.#events.write({ type: 'test:diagnostic', data: { nesting: 0, message: `${name} ${sum}` } });
    }
    this.#events.end();
    await this.#printed;
  }

  /** Counts like Node. A file counts as failed if it failed without a failed test, for example because it cannot be loaded. */
  #count(event: Result): void {
    const { nesting, skip, todo, details } = event.data;
    const { failureType } = errorOf(event);
    if (details.type === 'suite') this.#sums.suites++;
    else if (nesting > 0 || (event.type === 'test:fail' && failureType !== SUBTESTS_FAILED)) {
      this.#sums.tests++;
      if (skip !== undefined) this.#sums.skipped++;
      else if (todo !== undefined) this.#sums.todo++;
      else if (CANCELLED.includes(failureType)) this.#sums.cancelled++;
      else if (event.type === 'test:fail') this.#sums.fail++;
      else this.#sums.pass++;
    }
  }
}
