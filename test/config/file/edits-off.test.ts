// Whether a file can be edited: a read-only file system, and a file that is itself a mount, are detected before an edit is tried.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { editsOff } from '../../../proxy/config/file/edits-off.ts';
import { fileWith, folderFor, SMALL } from '../files.ts';

const hasNamespaces = spawnSync('unshare', ['--map-root-user', '--mount', 'true']).status === 0;
const skip = hasNamespaces ? false : 'needs unshare with namespaces for users';
const MODULE = fileURLToPath(new URL('../../../proxy/config/file/edits-off.ts', import.meta.url));

/** The reason for the file of a folder in which `mount` was run. */
function saidAfter(mount: string, folder: string): string {
  const program = `import { editsOff } from '${MODULE}'; console.log(await editsOff('${folder}/config.yaml'));`;
  const args = [
    '--map-root-user',
    '--mount',
    'sh',
    '-c',
    `cd "$0" && ${mount} && exec "$1" --input-type=module -e "$2"`,
    folder,
    process.execPath,
    program,
  ];
  const { stdout, stderr } = spawnSync('unshare', args, { encoding: 'utf8' });
  return stdout.trim() || stderr;
}

test('a file in a folder that takes its copy can be edited, and one that is missing cannot', async (context) => {
  assert.equal(await editsOff(fileWith(context, SMALL)), undefined);
  assert.equal(await editsOff(`${folderFor(context)}/config.yaml`), 'the file cannot be edited here, since it does not exist (ENOENT)');
});

for (const { what, mount, reason } of [
  {
    what: 'a read-only file system',
    mount: 'mount --bind . . && mount -o remount,bind,ro "$0" && cd "$0"',
    reason: 'its file system is read-only (EROFS)',
  },
  {
    what: 'a file that is mounted by itself',
    mount: 'cp config.yaml other.yaml && mount --bind other.yaml config.yaml',
    reason: 'it is mounted by itself; mount its folder, or edit it outside the container (EBUSY)',
  },
]) {
  test(`${what} is found`, { skip }, (context) => {
    const folder = fileWith(context, SMALL).replace(/\/config\.yaml$/, '');
    assert.equal(saidAfter(mount, folder), `the file cannot be edited here, since ${reason}`);
  });
}
