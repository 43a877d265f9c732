// Runs the tests beside the type check and the linter, and names the files that took longest.
//
//   node test/run.ts              every day's tests: all files but the long ones, with samples of large crosses
//   node test/run.ts --long       the long ones, NAME.long.test.ts, and all cases of the large crosses
//   node test/run.ts --all        both
//   node test/run.ts PATH…        these files, and those of these folders
//
// A few processes run all files, because most files load the whole gateway. All files share one PostgreSQL, and one cache of compiled code.
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { FileResult } from './runner/file-run.ts';
import { memoryFolder } from './runner/memory-folder.ts';
import { Report } from './runner/report.ts';
import { removeFolder, runFolder } from './runner/run-folder.ts';
import { ALONE, isLong, SLOW, SLOW_MS, TestFiles } from './runner/test-files.ts';
import { WorkerProcess } from './runner/worker-process.ts';
import { PostgresServer, SHARED_SERVER } from './support/postgres/postgres.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** A suitable number for two cores, because more than half of the time of a test is spent waiting for sockets and processes. */
const WORKERS = 5;

/** After this time the process that runs a file is ended, so a file that waits forever ends too. */
const DEADLINE_MS = 600_000;
const LONG_DEADLINE_MS = 2_400_000;

const { values, positionals } = parseArgs({
  options: { long: { type: 'boolean', default: false }, all: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const part = values.all ? 'all' : values.long ? 'long' : 'daily';

/** Runs a check, and prints its output if it fails. @returns whether it passed */
function check(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: ROOT, maxBuffer: 64 << 20 }, (error, out, err) => {
      if (error) process.stdout.write(`${out}${err}`);
      process.stdout.write(`${error ? '✖' : '✔'} ${[command, ...args].join(' ')}\n`);
      resolve(error === null);
    });
  });
}

/** Runs files of the queue until it is empty, in one process as long as possible. */
async function work(queue: (readonly string[])[], onResult: (result: FileResult) => void): Promise<void> {
  const deadlineMs = part === 'daily' ? DEADLINE_MS : LONG_DEADLINE_MS;
  let worker: WorkerProcess | undefined;
  const end = async (): Promise<void> => {
    await worker?.end();
    worker = undefined;
  };
  for (let files = queue.shift(); files !== undefined; files = queue.shift()) {
    for (const file of files) {
      const isAlone = file in ALONE || isLong(file);
      if (isAlone || worker?.isWorn) await end();
      worker ??= new WorkerProcess();
      onResult(await worker.run(file, isLong(file) ? LONG_DEADLINE_MS : deadlineMs));
      if (isAlone) await end();
    }
  }
  await end();
}

async function tests(queue: (readonly string[])[]): Promise<readonly FileResult[]> {
  const report = new Report();
  const results: FileResult[] = [];
  const start = performance.now();
  const onResult = (result: FileResult) => {
    results.push(result);
    report.add(result);
  };
  await Promise.all(Array.from({ length: WORKERS }, () => work(queue, onResult)));
  await report.end(performance.now() - start);
  if (report.hasFailed) process.exitCode = 1;
  return results;
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);

function printSlowest(results: readonly FileResult[]): void {
  const sum = seconds(results.reduce((total, { processorMs }) => total + processorMs, 0));
  process.stdout.write(`\nThe ten slowest files, and the processor time of their processes, ${sum} s for all files:\n`);
  for (const { file, wallMs, processorMs } of results.toSorted((a, b) => b.wallMs - a.wallMs).slice(0, 10)) {
    const why =
      wallMs < SLOW_MS || isLong(file)
        ? ''
        : `: ${SLOW[file] ?? 'the machine was busy, or SLOW in test/runner/test-files.ts lacks a reason'}`;
    process.stdout.write(`${seconds(wallMs).padStart(6)} s ${seconds(processorMs).padStart(6)} s  ${file}${why}\n`);
  }
}

const folder = runFolder(process.env.TMPDIR ?? memoryFolder() ?? tmpdir());
process.env.TMPDIR = folder;
let shared: PostgresServer | undefined;
try {
  const all = new TestFiles(ROOT);
  const files = positionals.length > 0 ? all.named(positionals) : all.of(part);
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled');
  if (part !== 'daily') {
    process.env.POOLGATE_CASES = 'all';
    process.env.POOLGATE_SEED ??= String(randomInt(1, 100_000));
    process.stdout.write(
      `The random cases of this run have the seed ${process.env.POOLGATE_SEED}: POOLGATE_SEED=${process.env.POOLGATE_SEED} repeats them.\n`,
    );
  }
  if (files.length > 1) {
    shared = await PostgresServer.start('shared');
    process.env[SHARED_SERVER] = shared.folder;
  }
  const checks =
    positionals.length > 0
      ? []
      : [
          // While the tests run, more threads save no time, and several checkers take twice the processor time of one.
          check('tsc', ['--singleThreaded']),
          check('tsc', ['-p', 'proxy/console']),
          check('biome', ['check', '--error-on-warnings']),
        ];
  const [results, ...checked] = await Promise.all([tests(all.inOrder(files)), ...checks]);
  printSlowest(results);
  if (checked.includes(false) || files.length === 0) process.exitCode = 1;
} finally {
  await shared?.end('SIGINT');
  removeFolder(folder);
}
