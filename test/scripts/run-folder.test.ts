// The folder of a test run: folders of runs that were killed are removed, and no others.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { removeFolder, runFolder } from '../runner/run-folder.ts';

test('a run removes the folders of runs that have ended', (context) => {
  const parent = mkdtempSync(join(tmpdir(), 'poolgate-runs-'));
  context.after(() => rmSync(parent, { recursive: true }));
  const own = runFolder(parent);
  const prefix = basename(own).slice(0, -String(process.pid).length);
  const ended = `${prefix}${spawnSync(process.execPath, ['--version']).pid}`;
  const kept = [`${prefix}${process.ppid}`, `${prefix}${process.ppid}x`, 'poolgate-run-1-1', 'poolgate-pg-1'];
  for (const name of [ended, ...kept]) mkdirSync(join(parent, name));
  for (const folder of [own, join(parent, ended)]) writeFileSync(join(folder, 'left'), '');
  assert.equal(runFolder(parent), own);
  assert.deepEqual(readdirSync(parent).sort(), [...kept, basename(own)].sort());
  assert.deepEqual(readdirSync(own), [], 'a former process had the same id');
  removeFolder(own);
  removeFolder(own);
  assert.deepEqual(readdirSync(parent).sort(), kept.sort());
});
