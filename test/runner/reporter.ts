// The reporter of a worker: it sends the events of its tests to the runner, which reports them.
import { readFileSync } from 'node:fs';
import type { TestEvent } from 'node:test/reporters';
import { inspect } from 'node:util';

/** An error of the worker that no test has caught. */
export interface SentError {
  readonly uncaught: string;
}

/** The resources that the process has used since its start, and its memory. */
export interface Usage {
  /** On Linux it includes that of the programs which it started and which have ended. */
  readonly processorMs: number;
  readonly memoryBytes: number;
}

export interface SentEvent {
  readonly event: TestEvent;
  /** Sent at the end of a file. */
  readonly usage?: Usage;
}

/** Events that are not sent, because the runner itself sums up all files, and reports each test when it begins. */
const UNUSED: readonly TestEvent['type'][] = ['test:summary', 'test:plan', 'test:enqueue'];

/** The part of a test's error that a reporter reads. `cause` is the error that the test threw. */
export interface TestError {
  readonly code?: string;
  readonly failureType?: string;
  readonly cause?: unknown;
}

/** The event with its error as text, because an error loses its class and its members between processes. */
function portable(event: TestEvent): TestEvent {
  const details = event.data !== undefined && 'details' in event.data ? event.data.details : undefined;
  if (details === undefined || !('error' in details)) return event;
  const { code, failureType, cause } = details.error as TestError;
  const error = { code, failureType, cause: inspect(cause, { depth: 8 }) };
  return { ...event, data: { ...event.data, details: { ...details, error } } } as unknown as TestEvent;
}

/** Whether the event ends a file, which is a test that is in no other. */
const isEndOfFile = (event: TestEvent): boolean => (event.type === 'test:pass' || event.type === 'test:fail') && event.data.nesting === 0;

/**
 * The fields of `/proc/self/stat` with the times of ended children, in hundredths of a second; they are counted from the third field, after
 * the name.
 */
const CHILDREN_USER = 13;
const CHILDREN_SYSTEM = 14;

function childrenMs(): number {
  if (process.platform !== 'linux') return 0;
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(') ') + 2).split(' ');
  return 10 * (Number(fields[CHILDREN_USER]) + Number(fields[CHILDREN_SYSTEM]));
}

function usage(): Usage {
  const { user, system } = process.cpuUsage();
  return { processorMs: (user + system) / 1000 + childrenMs(), memoryBytes: process.memoryUsage.rss() };
}

// biome-ignore lint/style/noDefaultExport: Node takes a reporter from there
// biome-ignore lint/correctness/useYield: all that it prints is in what it sends
export default async function* send(events: AsyncIterable<TestEvent>): AsyncGenerator<never> {
  for await (const event of events) {
    if (UNUSED.includes(event.type)) continue;
    const sent: SentEvent = { event: portable(event), ...(isEndOfFile(event) && { usage: usage() }) };
    process.send?.(sent);
  }
}
