// A process of the test runner: it runs the files that it gets, one after another. A file is a test that contains the tests of the file.
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { inspect } from 'node:util';
import type { SentError } from './reporter.ts';

/** Node's runner only records an error that no running test has caused; here it fails the file. */
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
