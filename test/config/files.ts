// Configuration files for tests: a small valid one, and a separate folder for each test.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Config } from '../../proxy/config/config.ts';
import { inspect } from '../../proxy/config/loading/load.ts';

/** SHA-256 of `test`. */
export const HASH = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08';

export const SMALL = `accounts:
  - id: north
    base_url: "rehearsal:"
pools:
  - id: team
    assignments:
      - account: north
keys:
  - id: ci
    pool: team
    secret_sha256: [${HASH}]
`;

/** `SMALL` for commands that ask the gateway of the file first: they find none, whatever runs at the default port of this machine. */
export const ALONE = `${SMALL}admin: false\n`;

/** A folder that is removed after the test. */
export function folderFor(context: Pick<TestContext, 'after'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-config-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** @returns the path of a file with this text in its own folder */
export function fileWith(context: TestContext, text: string): string {
  const path = join(folderFor(context), 'config.yaml');
  writeFileSync(path, text);
  return path;
}

/** @returns the path of a file for commands that ask this gateway */
export const fileAt = (context: TestContext, { adminUrl }: { readonly adminUrl: string }): string =>
  fileWith(context, `${SMALL}admin: { port: ${new URL(adminUrl).port} }\n`);

/** The configuration in a file. */
export async function configOf(path: string): Promise<Config> {
  const { config } = await inspect(readFileSync(path, 'utf8'), { path });
  assert.ok(config);
  return config;
}
