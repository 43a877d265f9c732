// The reporter of a worker: sends the events of its tests to the runner, which reports them.
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** An error of the worker that no test has caught. */
export interface SentError {
  readonly uncaught: string;
}

export interface SentEvent {
  readonly event: TestEvent;
  /** What the process has used since its start. */
  readonly processorMs: number;
  readonly memoryBytes: number;
}

/** The runner sums up all files itself. */
const OF_ONE_PROCESS: readonly TestEvent['type'][] = ['test:summary', 'test:plan'];

/** What a reporter reads of the error of a test. `cause` is what the test threw. */
export interface TestError {
  readonly code?: string;
  readonly failureType?: string;
  readonly cause?: unknown;
}

/** An event whose error is text: between processes an error loses its class and its members. */
function portable(event: TestEvent): TestEvent {
  const details = event.data !== undefined && 'details' in event.data ? event.data.details : undefined;
  if (details === undefined || !('error' in details)) return event;
  const { code, failureType, cause } = details.error as TestError;
  const error = { code, failureType, cause: inspect(cause, { depth: 8 }) };
  return { ...event, data: { ...event.data, details: { ...details, error } } } as unknown as TestEvent;
}

// biome-ignore lint/style/noDefaultExport: Node takes a reporter from there
// biome-ignore lint/correctness/useYield: all that it prints is in what it sends
export default async function* send(events: AsyncIterable<TestEvent>): AsyncGenerator<never> {
  for await (const event of events) {
    if (OF_ONE_PROCESS.includes(event.type)) continue;
    const { user, system } = process.cpuUsage();
    const sent: SentEvent = { event: portable(event), processorMs: (user + system) / 1000, memoryBytes: process.memoryUsage.rss() };
    process.send?.(sent);
  }
}
