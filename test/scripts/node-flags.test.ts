// The flags of Node and the variables of the C library: Node accepts them, the container uses those of the command, and versions of Node that
// may lack them get no flags of V8.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { allocatorVariables, nodeFlags } from '../../scripts/node-flags.mjs';

test('this Node starts with the flags of its version', () => {
  assert.equal(execFileSync(process.execPath, [...nodeFlags(process.versions.node), '--print', '6 * 7'], { encoding: 'utf8' }), '42\n');
});

test('a Node that is newer than the measured ones gets no flags of V8', () => {
  assert.deepEqual(nodeFlags('26.1.0'), ['--disable-warning=ExperimentalWarning']);
});

test('the container runs the gateway under the flags of the command', () => {
  const dockerfile = readFileSync(new URL('../../Dockerfile', import.meta.url), 'utf8');
  const version = /^FROM node:(\d+)-slim$/m.exec(dockerfile)?.[1] ?? '';
  const entry: unknown = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(dockerfile)?.[1] ?? '');
  assert.deepEqual(entry, ['node', ...nodeFlags(version), 'proxy/main.ts']);
  const set = new Set(/^ENV (NODE_ENV=.*)$/m.exec(dockerfile)?.[1]?.split(' '));
  for (const [name, value] of Object.entries(allocatorVariables)) assert.ok(set.has(`${name}=${value}`), name);
});

test('[Q38] the command starts the gateway with the sizes of the allocator, unless the operator has set them', () => {
  const command = fileURLToPath(new URL('../../scripts/poolgate.mjs', import.meta.url));
  const names = Object.keys(allocatorVariables);
  const print = `process.argv[1]?.endsWith('main.ts') && console.log(JSON.stringify(${JSON.stringify(names)}.map((name) => process.env[name])))`;
  const startedWith = (own: NodeJS.ProcessEnv): unknown[] => {
    const env = { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(print)}`, ...own };
    const [first = ''] = execFileSync(process.execPath, [command, '--help'], { encoding: 'utf8', env }).split('\n');
    return JSON.parse(first) as unknown[];
  };
  const unset = Object.fromEntries(names.map((name) => [name, undefined]));
  assert.deepEqual(startedWith(unset), Object.values(allocatorVariables));
  assert.equal(startedWith({ ...unset, MALLOC_MMAP_THRESHOLD_: '65536' })[0], '65536');
});
