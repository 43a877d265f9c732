// The table of quirks states the APIs of each quirk: only the translations of these APIs read it (AA14).
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { QUIRKS, type Quirk } from '../../../proxy/turn/provider/quirks.ts';

const sourcesOf = (folder: string): string => {
  const root = fileURLToPath(new URL(`../../../proxy/providers/${folder}/`, import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return files.map((file) => readFileSync(`${root}${file}`, 'utf8')).join('\n');
};

const SHARED = sourcesOf('api-accounts');
const SOURCES = { chat: sourcesOf('chat'), responses: sourcesOf('responses') };

test('[AA14] each quirk is read by the translations of the APIs that the table names, and by no other', () => {
  for (const [name, { apis }] of Object.entries<Quirk>(QUIRKS)) {
    const reads = new RegExp(`\\bquirks\\.${name}\\b|\\bQuirks\\['${name}'\\]|[{,] ?${name}[ ,}].*[qQ]uirks`);
    for (const [api, source] of Object.entries(SOURCES)) {
      const isNamed = (apis as readonly string[]).includes(api);
      if (isNamed) assert.ok(reads.test(source) || new RegExp(`\\b${name}\\b`).test(SHARED), `${name} is read for ${api}`);
      else assert.ok(!new RegExp(`\\bquirks\\.${name}\\b`).test(source), `${name} is not read for ${api}`);
    }
  }
});
