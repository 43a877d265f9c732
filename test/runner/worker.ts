// A process of the test runner: runs the files that it is sent, one after another. A file is a test, and its tests are that test's own.
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';

process.on('message', (file: string) => {
  test(file, async () => {
    await import(pathToFileURL(file).href);
  });
});

process.on('disconnect', () => process.exit());
