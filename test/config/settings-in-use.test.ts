// The program uses every setting of the schema; an unused one would mislead its operator.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { settings } from '../../proxy/config/schema/schema.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** All sources as one text, without those of the configuration and those that only report settings: the commands and the tools of /mcp. */
const source = globSync('{proxy,rules}/**/*.ts', { cwd: ROOT })
  .filter((file) => !/^proxy\/(?:(?:config|cli|rehearsal|answers\/mcp\/tools)\/|turn\/settings\.ts$)/.test(file))
  .map((file) => readFileSync(`${ROOT}/${file}`, 'utf8'))
  .join('\n');

const isNamed = (path: string): boolean => new RegExp(`\\b${/[^.[\]*]+$/.exec(path)?.[0]}\\b`).test(source);

test('every setting is used by a source file', () => {
  // Settings that the loader itself reads: secret files and the rows of the route table.
  const own = /^(?:routes\b|store\.postgres\b|store_key\b|accounts\[\]\.credential\b)/;
  const unread = [...settings()].map(({ path }) => path).filter((path) => !own.test(path) && !isNamed(path));
  assert.deepEqual(unread, []);
});
