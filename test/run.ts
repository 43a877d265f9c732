// Runs the tests beside the type check and the linter, and names the files that took longest.
//
//   node test/run.ts              every day's tests: all files but the long ones, with samples of large crosses
//   node test/run.ts --long       the long ones, NAME.long.test.ts, and all cases of the large crosses
//   node test/run.ts --all        both
//   node test/run.ts FILE…        these files
//
// All files share one PostgreSQL, and one cache of compiled code.
import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { PostgresServer, SHARED_SERVER } from './support/postgres.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Half of a test's time is spent in waits for sockets and processes. */
const CONCURRENCY = 4;

/** Rooms whose files start no server: they share a process each, because a process takes a third of a second to start. */
const TOGETHER = ['accounts', 'admission', 'config', 'dispatch', 'models', 'rehearsal', 'rules', 'turn'];

const LONG = '.long.test.ts';

const SLOW_MS = 10_000;

/** Files that may take longer than SLOW_MS, and why. */
const SLOW: Readonly<Record<string, string>> = {
  'test/gateway/process.test.ts': 'starts and stops the program for each signal and each message of its start',
  'test/nodes/capacity.test.ts': 'leases of real length between three nodes',
  'test/nodes/database-gone.test.ts': 'stops and starts a PostgreSQL of its own, and waits for deadlines of two seconds',
  'test/spec/audit.test.ts': 'runs the commands of an operator, each a process',
  'test/spec/canary.test.ts': 'each route by each failure, over one gateway',
  'test/spec/chat-requests.test.ts': 'each value of each parameter of Chat',
  'test/spec/reload.test.ts': 'starts the program for each kind of change of its file',
  'test/store/postgres-outage.test.ts': 'stops and starts a PostgreSQL of its own',
};

const { values, positionals } = parseArgs({
  options: { long: { type: 'boolean', default: false }, all: { type: 'boolean', default: false } },
  allowPositionals: true,
});

const relativeTo = (file: string): string => relative(ROOT, file);

function chosen(): readonly string[] {
  if (positionals.length > 0) return positionals.flatMap((pattern) => globSync(pattern, { cwd: ROOT }));
  const files = globSync('test/**/*.test.ts', { cwd: ROOT }).sort();
  return files.filter((file) => values.all || file.endsWith(LONG) === values.long || (values.long && hasSamples(file)));
}

/** Whether `npm test` runs a sample of its cases. */
const hasSamples = (file: string): boolean => readFileSync(join(ROOT, file), 'utf8').includes("support/sample.ts'");

/** The files to start: those of a room that share a process are imported by one file. */
function entries(files: readonly string[], folder: string): readonly string[] {
  const rooms = new Map<string, string[]>();
  const alone: string[] = [];
  for (const file of files) {
    const [, room = ''] = file.split('/');
    if (TOGETHER.includes(room) && !file.endsWith(LONG)) rooms.set(room, [...(rooms.get(room) ?? []), file]);
    else alone.push(join(ROOT, file));
  }
  const shared = [...rooms].map(([room, own]) => {
    const entry = join(folder, `${room}.test.mjs`);
    writeFileSync(entry, own.map((file) => `await import(${JSON.stringify(pathToFileURL(join(ROOT, file)).href)});\n`).join(''));
    return entry;
  });
  return [...shared, ...alone];
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

/** Resolves with whether all tests passed, when their report is printed. */
function tests(files: readonly string[], took: Map<string, number>): Promise<boolean> {
  return new Promise((resolve) => {
    let passed = true;
    const events = run({ files: [...files], concurrency: CONCURRENCY, cwd: ROOT });
    events.on('test:fail', ({ todo }) => {
      if (todo === undefined || todo === false) passed = false;
    });
    events.on('test:summary', ({ file, duration_ms }) => {
      if (file !== undefined) took.set(file, duration_ms);
    });
    const report = events.compose(spec);
    report.pipe(process.stdout);
    report.on('end', () => resolve(passed));
  });
}

const nameOf = (file: string, folder: string): string =>
  file.startsWith(folder) ? `the files of test/${basename(file, '.test.mjs')} together` : relativeTo(file);

const folder = mkdtempSync(join(tmpdir(), 'poolgate-tests-'));
try {
  const files = chosen();
  process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled');
  if (values.long || values.all) process.env.POOLGATE_CASES = 'all';
  if (files.length > 1) process.env[SHARED_SERVER] = (await PostgresServer.start()).folder;
  const took = new Map<string, number>();
  const checks = positionals.length > 0 ? [] : [check('tsc', []), check('biome', ['check', '--error-on-warnings'])];
  const passed = await Promise.all([tests(entries(files, folder), took), ...checks]);
  const slowest = [...took].map(([file, ms]) => ({ name: nameOf(file, folder), ms })).sort((a, b) => b.ms - a.ms);
  process.stdout.write('\nThe ten slowest files:\n');
  for (const { name, ms } of slowest.slice(0, 10)) process.stdout.write(`${(ms / 1000).toFixed(1).padStart(6)} s  ${name}\n`);
  for (const { name, ms } of slowest.filter(({ name, ms }) => ms > SLOW_MS && SLOW[name] === undefined)) {
    process.stdout.write(`note: ${name} took ${(ms / 1000).toFixed(1)} s, and SLOW in test/run.ts has no reason for it\n`);
  }
  if (passed.includes(false) || files.length === 0) process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true });
}
