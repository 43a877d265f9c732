// The second HTTP client of Node, which an import of node:http would load, stays unloaded until it is used.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const MODULE = new URL('../../../proxy/base/process/fast-start.ts', import.meta.url);

const printed = (script: string): unknown =>
  JSON.parse(execFileSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' }));

const LOADED = `process.moduleLoadList.some((name) => name.endsWith('deps/undici/undici'))`;

test('an import of node:http loads no other client, and fetch and WebSocket work as ever', () => {
  const script = `
    const { dropExportsOfFetch } = await import('${MODULE}');
    dropExportsOfFetch();
    const { createServer, globalAgent } = await import('node:http');
    const before = ${LOADED};
    const response = await fetch('data:,hello');
    console.log(JSON.stringify([before, await response.text(), typeof WebSocket, typeof createServer, typeof globalAgent, ${LOADED}]));`;
  assert.deepEqual(printed(script), [false, 'hello', 'function', 'function', 'object', true]);
});

test('without it the import does load it: this Node still needs it', () => {
  assert.equal(printed(`await import('node:http'); console.log(${LOADED});`), true);
});
