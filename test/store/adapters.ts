// The adapters with which the tests of the store run: each has a name and a way to get an empty database that can be opened again and
// again.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freshDatabase } from '../support/postgres/postgres.ts';

export interface Adapter {
  readonly name: string;
  /** The URL of an empty database that is removed after the test. */
  fresh(test: TestContext): Promise<string>;
}

/** A folder that is removed after the test. */
export async function folder(test: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'poolgate-store-'));
  test.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

export const adapters: readonly Adapter[] = [
  { name: 'sqlite', fresh: async (test) => `sqlite:${await folder(test)}/data/poolgate.db` },
  { name: 'postgres', fresh: freshDatabase },
];
