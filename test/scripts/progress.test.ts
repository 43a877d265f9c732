// The progress of a first start: the installed part of the lockfile is reported while npm works.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { packagesIn, withProgress } from '../../scripts/progress.mjs';

test('packages of the lockfile are counted, without those of other machines', (context) => {
  const directory = mkdtempSync(join(tmpdir(), 'poolgate-progress-'));
  context.after(() => rmSync(directory, { recursive: true }));
  const packages = {
    '': {},
    'node_modules/a': {},
    'node_modules/a/node_modules/b': {},
    'node_modules/here': { os: ['linux'], cpu: ['x64'] },
    'node_modules/elsewhere': { os: ['win32'], cpu: ['x64'] },
    'node_modules/other-processor': { cpu: ['arm64'] },
  };
  const counted = () => packagesIn(directory, JSON.stringify({ packages }), { platform: 'linux', arch: 'x64' });
  assert.deepEqual(counted(), { all: 3, installed: 0 });
  mkdirSync(join(directory, 'node_modules/a'), { recursive: true });
  assert.deepEqual(counted(), { all: 3, installed: 0 }, 'a directory alone is no package yet');
  writeFileSync(join(directory, 'node_modules/a/package.json'), '{}');
  assert.deepEqual(counted(), { all: 3, installed: 1 });
});

test('progress is said while the work runs, and not after its end', async ({ mock }) => {
  mock.timers.enable({ apis: ['setInterval'] });
  const said: number[] = [];
  const { promise, resolve } = Promise.withResolvers<string>();
  const working = withProgress((seconds) => said.push(seconds), promise, 5_000);
  mock.timers.tick(4_999);
  assert.deepEqual(said, [], 'a short step says nothing');
  mock.timers.tick(10_001);
  assert.equal(said.length, 3);
  resolve('done');
  assert.equal(await working, 'done');
  mock.timers.tick(60_000);
  assert.equal(said.length, 3);
});

test('the failure of the work is its own', async () => {
  await assert.rejects(
    withProgress(() => undefined, Promise.reject(new Error('no network'))),
    /no network/,
  );
});
