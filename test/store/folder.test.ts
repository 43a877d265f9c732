// The message that an operator gets if the folder of the database or of its key cannot be made.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { PATIENCE_MS } from '../support/until.ts';

const HERE = import.meta.dirname;

const ADVICE = '. Set `store` to a file that this user may create and write';

const hasNamespaces = spawnSync('unshare', ['--map-root-user', '--mount', 'true']).status === 0;

/** A program that prints the code and the message of an expression's rejection. */
const programOf = (expression: string): string =>
  [
    `import { openStore } from '${HERE}/../../store/store.ts';`,
    `import { storeKeyOf } from '${HERE}/../../proxy/encryption/store-key.ts';`,
    `await ${expression}.then(() => console.log('no error'), ({ code, message }) => console.log(code, message));`,
  ].join('\n');

/** Evaluates an expression on a file system that is mounted only for this process. @returns the code and the message of its rejection */
function messageOf(expression: string, { folder, mounted }: { readonly folder: string; readonly mounted: string }): string {
  const script = `mount -t tmpfs -o ${mounted} tmpfs "$0" && exec "$1" --input-type=module -e "$2"`;
  const args = ['--map-root-user', '--mount', 'sh', '-c', script, folder, process.execPath, programOf(expression)];
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  return stdout.trim() || stderr;
}

for (const { what, path, mounted, reason, advice } of [
  {
    what: 'a read-only file system',
    path: 'data/deeper/poolgate.db',
    mounted: 'ro',
    reason: 'its file system is read-only (EROFS)',
    advice: ADVICE,
  },
  { what: 'a full disk', path: 'data/poolgate.db', mounted: 'nr_inodes=1', reason: 'the disk is full (ENOSPC)', advice: '' },
]) {
  const skip = hasNamespaces ? false : 'needs unshare with namespaces for users';
  test(`the folder of a store on ${what} is not reported as missing`, { skip }, (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'poolgate-'));
    context.after(() => rmSync(folder, { recursive: true }));
    const file = join(folder, path);
    const code = what === 'a full disk' ? 'full' : 'not_writable';
    assert.equal(
      messageOf(`openStore('sqlite:${file}', { clock: () => 0 })`, { folder, mounted }),
      `${code} store ${file}: cannot be written: ${reason}${advice}`,
    );
    assert.equal(
      messageOf(`storeKeyOf('sqlite:x', { file: '${file}' })`, { folder, mounted }),
      `not_writable store_key ${file}: it does not exist and cannot be created: ${reason}`,
    );
  });
}

test('a store below a folder in which nothing can be created is refused', {
  skip: existsSync('/proc/self') ? false : 'needs /proc',
}, () => {
  // In a process of its own, because a try that does not end could not be stopped in this one.
  const args = ['--input-type=module', '-e', programOf(`openStore('sqlite:/proc/data/poolgate.db', { clock: () => 0 })`)];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: PATIENCE_MS });
  assert.equal(
    stdout.trim() || stderr,
    `not_writable store /proc/data/poolgate.db: cannot be written: nothing can be created there (ENOENT)${ADVICE}`,
  );
});
