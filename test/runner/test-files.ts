// Which files a run of the tests has, in which order they start, and which of them share a process.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const LONG = '.long.test.ts';

export const SLOW_MS = 10_000;

/** Files that may take longer than SLOW_MS, with the reason. They start first, so that none of them ends last. */
export const SLOW: Readonly<Record<string, string>> = {
  'test/crossing/alone.test.ts': 'hundreds of turns: each client at each kind of server',
  'test/crossing/mixed.test.ts': 'turns that fail over between accounts of each API, for each client',
  'test/crossing/real-servers.test.ts': 'two servers of other projects start as processes',
  'test/crossing/sdks.test.ts': 'a gateway for each SDK, and seven SDKs to load',
  'test/console/edits.test.ts': 'a browser follows each edit of a file, and axe-core looks at its pages',
  'test/console/login-page.test.ts': 'a browser follows logins, whose codes are asked for once a second',
  'test/console/pages.test.ts': 'axe-core looks at every page in a browser',
  'test/cli/store-trouble.test.ts': 'waits until a locked store is reported',
  'test/gateway/arrival.test.ts': 'clients whose bytes are late by a second',
  'test/gateway/process/process.test.ts': 'starts the program twice, and drains it',
  'test/gateway/torture/websocket-torture.test.ts': 'a reply that breaks off at bytes of a sample, and in the long run at each byte',
  'test/nodes/limits/capacity.test.ts': 'leases of real length between three nodes',
  'test/nodes/outages/database-gone.test.ts': 'stops and starts a PostgreSQL of its own, and waits for deadlines of two seconds',
  'test/nodes/forwarding/forwarding.test.ts': 'starts two nodes for each case',
  'test/nodes/limits/key-limits.test.ts': 'starts three nodes for each case',
  'test/spec/accounts/account-login.test.ts': 'logins wait for their provider',
  'test/spec/operators/canary.test.ts': 'each route by each failure, over one gateway',
  'test/spec/operators/reload.test.ts': 'each save of a file is read when it has settled',
  'test/spec/operators/nodes-owners.test.ts': 'starts two nodes for each case',
  'test/spec/chat/chat.test.ts': 'each case on both paths, most of them as JSON and as a stream',
  'test/spec/keys/limits.test.ts': 'each bound of the table, among them times of connections',
  'test/spec/messages/messages-faults.test.ts': 'each fault of an account, and waits of two seconds for accounts that stall',
  'test/spec/requests/passthrough/passthrough-edges.test.ts': 'readers that are slower than an account is silent',
  'test/store/postgres/postgres-outage.test.ts': 'stops and starts a PostgreSQL of its own',
  'test/store/store.test.ts': 'each verb on both engines, each case in a database of its own',
  'test/walk/walk.test.ts': 'a debugger stops at each function that a turn of each surface calls',
};

/** Files that need a separate process, with the reason. Long files have one too. */
export const ALONE: Readonly<Record<string, string>> = {
  'test/nodes/outages/database-gone.test.ts': 'all databases of its process are on a server of its own',
  'test/store/postgres/postgres.test.ts': 'all databases of its process are on a server of its own',
  'test/store/postgres/postgres-outage.test.ts': 'all databases of its process are on a server of its own',
  'test/walk/walk.test.ts': 'its debugger stops at all code of the process, and undoes what was compiled of it',
};

export const isLong = (file: string): boolean => file.endsWith(LONG);

/** The modules that draw a sample of the cases of a file for `npm test`. */
const SAMPLERS = ["support/sample.ts'", "support/wire/table.ts'"];

/** Files with this module collect garbage many times, which takes a tenth of the time in a process that has run little. */
const COLLECTORS = ["support/program/memory-in-use.ts'"];

/** Files with one of them share a process, because the browser of a process starts once. */
const BROWSERS = ["browser.ts'", "visits.ts'"];

export class TestFiles {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** @param patterns of files; a folder means its test files */
  named(patterns: readonly string[]): readonly string[] {
    const found = patterns.flatMap((pattern) => globSync([pattern, `${pattern}/**/*.test.ts`], { cwd: this.#root }));
    return [...new Set(found)].filter((name) => name.endsWith('.ts'));
  }

  /** @param part `long` also includes the files of which `npm test` runs a sample */
  of(part: 'daily' | 'long' | 'all'): readonly string[] {
    const files = globSync('test/**/*.test.ts', { cwd: this.#root }).sort();
    if (part === 'all') return files;
    return files.filter((file) => isLong(file) === (part === 'long') || (part === 'long' && this.#uses(file, SAMPLERS)));
  }

  /** The files in the order in which they start, each with the files that follow it in its process. */
  inOrder(files: readonly string[]): (readonly string[])[] {
    const first: readonly ((file: string) => boolean)[] = [
      // These files start before any process has loaded the gateway for other files.
      (file) => file in ALONE,
      (file) => this.#uses(file, COLLECTORS),
      (file) => isLong(file) || file in SLOW,
      () => true,
    ];
    const rankOf = (file: string): number => first.findIndex((isOfRank) => isOfRank(file));
    const withBrowser = files.filter((file) => !isLong(file) && this.#uses(file, BROWSERS));
    const ordered = files.toSorted((a, b) => rankOf(a) - rankOf(b)).map((file) => (withBrowser.includes(file) ? withBrowser : [file]));
    return [...new Map(ordered.map((group) => [group[0], group])).values()];
  }

  #uses(file: string, modules: readonly string[]): boolean {
    const text = readFileSync(join(this.#root, file), 'utf8');
    return modules.some((module) => text.includes(module));
  }
}
