// Runs the tests beside the type check and the linter, and names the files that took longest.
//
//   node test/run.ts              every day's tests: all files but the long ones, with samples of large crosses
//   node test/run.ts --long       the long ones, NAME.long.test.ts, and all cases of the large crosses
//   node test/run.ts --all        both
//   node test/run.ts FILE…        these files
//
// A few processes run all files, because most files load the whole gateway. All files share one PostgreSQL, and one cache of compiled code.
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { FileResult } from './runner/file-run.ts';
import { memoryFolder } from './runner/memory-folder.ts';
import { Report } from './runner/report.ts';
import { WorkerProcess } from './runner/worker-process.ts';
import { PostgresServer, SHARED_SERVER } from './support/postgres.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Half of a test's time is spent in waits for sockets and processes. */
const WORKERS = 4;

const LONG = '.long.test.ts';

const SLOW_MS = 10_000;

/** Files that may take longer than SLOW_MS, and why. They start first, so that none of them is the last to end. */
const SLOW: Readonly<Record<string, string>> = {
  'test/crossing/alone.test.ts': 'hundreds of turns: each client at each kind of server',
  'test/crossing/real-servers.test.ts': 'two servers of other projects start as processes',
  'test/crossing/sdks.test.ts': 'a gateway for each SDK, and seven SDKs to load',
  'test/console/edits.test.ts': 'a browser follows each edit of a file, and axe-core looks at its pages',
  'test/console/login-page.test.ts': 'a browser follows logins, whose codes are asked for once a second',
  'test/console/pages.test.ts': 'axe-core looks at every page in a browser',
  'test/cli/store-trouble.test.ts': 'waits until a locked store is reported',
  'test/gateway/process.test.ts': 'starts the program twice, and drains it',
  'test/nodes/capacity.test.ts': 'leases of real length between three nodes',
  'test/nodes/database-gone.test.ts': 'stops and starts a PostgreSQL of its own, and waits for deadlines of two seconds',
  'test/nodes/forwarding.test.ts': 'starts two nodes for each case',
  'test/nodes/key-limits.test.ts': 'starts three nodes for each case',
  'test/spec/accounts/account-login.test.ts': 'logins wait for their provider',
  'test/spec/operators/canary.test.ts': 'each route by each failure, over one gateway',
  'test/spec/chat/chat-requests.test.ts': 'each value of each parameter of Chat',
  'test/spec/operators/reload.test.ts': 'each save of a file is read when it has settled',
  'test/spec/operators/nodes-owners.test.ts': 'starts two nodes for each case',
  'test/spec/keys/usage.test.ts': 'days of limits, with every timer of the gateway in them',
  'test/store/postgres-outage.test.ts': 'stops and starts a PostgreSQL of its own',
  'test/store/store.test.ts': 'each verb on both engines, each case in a database of its own',
};

/** Files that have a process to themselves, and why. So have the long ones. */
const ALONE: Readonly<Record<string, string>> = {
  'test/nodes/database-gone.test.ts': 'all databases of its process are on a server of its own',
  'test/store/postgres.test.ts': 'all databases of its process are on a server of its own',
  'test/store/postgres-outage.test.ts': 'all databases of its process are on a server of its own',
  'test/walk/walk.test.ts': 'its debugger stops at all code of the process, and undoes what was compiled of it',
};

/** After them the process that runs a file is ended: a file that waits for what never comes. */
const DEADLINE_MS = 300_000;
const LONG_DEADLINE_MS = 1_200_000;

const { values, positionals } = parseArgs({
  options: { long: { type: 'boolean', default: false }, all: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const isLong = (file: string): boolean => file.endsWith(LONG);

/** The modules that draw a sample of the cases of a file for `npm test`. */
const SAMPLERS = ["support/sample.ts'", "support/wire/table.ts'"];

const uses = (file: string, modules: readonly string[]): boolean => {
  const text = readFileSync(join(ROOT, file), 'utf8');
  return modules.some((module) => text.includes(module));
};

function chosen(): readonly string[] {
  if (positionals.length > 0) return positionals.flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  return files.filter((file) => values.all || isLong(file) === values.long || (values.long && uses(file, SAMPLERS)));
}

/** The order in which files start. */
function inOrder(files: readonly string[]): string[] {
  const first: readonly ((file: string) => boolean)[] = [
    // Before any process has loaded the gateway for other files.
    (file) => file in ALONE,
    // Each collects garbage many times, which takes a tenth of the time in a process that has run little.
    (file) => uses(file, ["support/memory-in-use.ts'"]),
    (file) => isLong(file) || file in SLOW,
    () => true,
  ];
  const rankOf = (file: string): number => first.findIndex((isOfRank) => isOfRank(file));
  return files.toSorted((a, b) => rankOf(a) - rankOf(b));
}

/** Runs a check, and prints what it says if it fails. @returns whether it passed */
function check(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, args, { cwd: ROOT, maxBuffer: 64 << 20 }, (error, out, err) => {
      if (error) process.stdout.write(`${out}${err}`);
      process.stdout.write(`${error ? '✖' : '✔'} ${[command, ...args].join(' ')}\n`);
      resolve(error === null);
    });
  });
}

/** Runs files of the queue until it is empty, in one process as long as that is possible. */
async function work(queue: string[], onResult: (result: FileResult) => void): Promise<void> {
  let worker: WorkerProcess | undefined;
  for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
    const isAlone = file in ALONE || isLong(file);
    if (worker && (isAlone || worker.isWorn)) {
      await worker.end();
      worker = undefined;
    }
    worker ??= new WorkerProcess();
    onResult(await worker.run(file, isLong(file) || values.long || values.all ? LONG_DEADLINE_MS : DEADLINE_MS));
    if (isAlone) {
      await worker.end();
      worker = undefined;
    }
  }
  await worker?.end();
}

async function tests(files: readonly string[]): Promise<readonly FileResult[]> {
  const queue = inOrder(files);
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
  process.stdout.write('\nThe ten slowest files, and the processor time of their processes:\n');
  for (const { file, wallMs, processorMs } of results.toSorted((a, b) => b.wallMs - a.wallMs).slice(0, 10)) {
    const why = wallMs < SLOW_MS || isLong(file) ? '' : `: ${SLOW[file] ?? 'SLOW in test/run.ts has no reason for it'}`;
    process.stdout.write(`${seconds(wallMs).padStart(6)} s ${seconds(processorMs).padStart(6)} s  ${file}${why}\n`);
  }
}

process.env.TMPDIR ??= memoryFolder() ?? tmpdir();
const folder = mkdtempSync(join(tmpdir(), 'poolgate-tests-'));
try {
  const files = chosen();
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled');
  if (values.long || values.all) process.env.POOLGATE_CASES = 'all';
  if (files.length > 1) process.env[SHARED_SERVER] = (await PostgresServer.start('shared')).folder;
  const checks =
    positionals.length > 0
      ? []
      : [
          // Beside the tests its threads gain no time, and several checkers take twice the processor time of one.
          check('tsc', ['--singleThreaded']),
          check('tsc', ['-p', 'proxy/console']),
          check('biome', ['check', '--error-on-warnings']),
        ];
  const [results, ...checked] = await Promise.all([tests(files), ...checks]);
  printSlowest(results);
  if (checked.includes(false) || files.length === 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
