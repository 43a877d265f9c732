// The compiled sqlite3 stays through an update of other packages, but not through one of its own.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { keepBuild } from '../../scripts/kept-build.mjs';
import { stampOf } from '../../scripts/setup.mjs';

const ADDON = 'build/Release/node_sqlite3.node';

interface Update {
  readonly what: string;
  readonly version?: string;
  readonly stamp?: string;
  readonly isKept: boolean;
}

const FORMER = stampOf('lock', 'v24.1.0', 'linux-x64');

const UPDATES: readonly Update[] = [
  { what: 'other packages', isKept: true },
  { what: 'sqlite3 itself', version: '7.0.0', isKept: false },
  { what: 'Node', stamp: stampOf('lock', 'v26.0.0', 'linux-x64'), isKept: false },
  { what: 'the machine', stamp: stampOf('lock', 'v24.1.0', 'linux-arm64'), isKept: false },
];

for (const { what, version = '6.0.1', stamp = stampOf('other', 'v24.9.0', 'linux-x64'), isKept } of UPDATES) {
  test(`an update of ${what} ${isKept ? 'keeps' : 'drops'} the compiled sqlite3`, (context) => {
    const root = mkdtempSync(join(tmpdir(), 'poolgate-build-'));
    context.after(() => rmSync(root, { recursive: true }));
    const folder = join(root, 'node_modules/sqlite3');
    const install = (installed: string): void => {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, 'package.json'), JSON.stringify({ version: installed }));
    };
    install('6.0.1');
    mkdirSync(join(folder, 'build/Release'), { recursive: true });
    writeFileSync(join(folder, ADDON), 'compiled');
    const restore = keepBuild(root, FORMER, stamp);
    install(version);
    assert.equal(restore(), isKept);
    assert.equal(existsSync(join(folder, ADDON)) && readFileSync(join(folder, ADDON), 'utf8'), isKept && 'compiled');
  });
}

test('a first installation keeps nothing', () => {
  assert.equal(keepBuild('/nowhere', '', FORMER)(), false);
});
