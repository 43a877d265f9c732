// The flags of Node: Node accepts them, the container uses those of the command, and versions that may lack them get no flags of V8.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { nodeFlags } from '../../scripts/node-flags.mjs';

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
});
