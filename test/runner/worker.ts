// A process of the test runner: runs the files that it is sent, one after another. A file is a test, and its tests are that test's own.
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import type { SentError } from './reporter.ts';

/** Node's runner only notes an error that no running test has caused: here it fails the file. */
const sendError = (error: unknown): void => {
  const sent: SentError = { uncaught: inspect(error) };
  process.send?.(sent);
};
process.on('uncaughtExceptionMonitor', sendError);
process.on('unhandledRejection', sendError);

process.on('message', (file: string) => {
  test(file, async () => {
    await import(pathToFileURL(file).href);
  });
});

process.on('disconnect', () => process.exit());
