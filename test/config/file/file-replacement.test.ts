// Replacing the file is atomic, keeps mode and links, and makes one edit at a time.
import assert from 'node:assert/strict';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { EditRefused, rewriteConfig } from '../../../proxy/config/file/file-replacement.ts';
import { EditError } from '../../../proxy/config/file/yaml-places.ts';
import { ConfigError } from '../../../proxy/config/schema/finding.ts';
import { fileWith, folderFor, SMALL } from '../files.ts';

const pause = () => [{ set: ['keys', 0, 'status'], to: 'paused' }];

test('an edited file keeps its mode, and no other file remains in the folder', async (context) => {
  const path = fileWith(context, SMALL);
  chmodSync(path, 0o640);
  assert.equal(await rewriteConfig(path, pause), true);
  assert.equal(readFileSync(path, 'utf8'), `${SMALL}    status: paused\n`);
  assert.equal(statSync(path).mode & 0o777, 0o640);
  assert.deepEqual(readdirSync(dirname(path)), ['config.yaml']);
});

test('a link stays a link, and the linked file is replaced', async (context) => {
  const folder = folderFor(context);
  mkdirSync(join(folder, 'etc'));
  writeFileSync(join(folder, 'etc/real.yaml'), SMALL);
  symlinkSync('etc/real.yaml', join(folder, 'config.yaml'));
  await rewriteConfig(join(folder, 'config.yaml'), pause);
  assert.ok(lstatSync(join(folder, 'config.yaml')).isSymbolicLink());
  assert.match(readFileSync(join(folder, 'etc/real.yaml'), 'utf8'), /status: paused/);
});

test('an edit that would make the file invalid is refused with findings, and the file is unchanged', async (context) => {
  const path = fileWith(context, SMALL);
  await assert.rejects(
    rewriteConfig(path, () => [{ set: ['keys', 0, 'pool'], to: 'taem' }]),
    (error) => {
      assert.ok(error instanceof EditRefused);
      assert.equal(error.message, `${path}:10:11: keys[ci].pool: there is no Pool 'taem'; did you mean 'team'?`);
      return true;
    },
  );
  assert.equal(readFileSync(path, 'utf8'), SMALL);
  assert.deepEqual(readdirSync(dirname(path)), ['config.yaml']);
});

test('a file with errors is not edited', async (context) => {
  const path = fileWith(context, `${SMALL}    statsu: active\n`);
  await assert.rejects(rewriteConfig(path, pause), ConfigError);
});

test('a file with unreadable secrets can be edited', async (context) => {
  const account = '  - { id: real, base_url: "https://a.example", credential: { bearer: { file: /nowhere/token } } }\n';
  const path = fileWith(context, SMALL.replace('pools:', `${account}pools:`));
  assert.equal(await rewriteConfig(path, pause), true);
});

test('an empty list of edits leaves the file unchanged', async (context) => {
  const path = fileWith(context, SMALL);
  const before = statSync(path, { bigint: true });
  assert.equal(await rewriteConfig(path, () => []), false);
  const after = statSync(path, { bigint: true });
  assert.deepEqual([after.ino, after.mtimeNs], [before.ino, before.mtimeNs]);
});

test('concurrent edits are all applied', async (context) => {
  const path = fileWith(context, SMALL);
  const hashes = Array.from({ length: 8 }, (_, i) => String(i).repeat(64));
  await Promise.all(
    hashes.map((hash, i) =>
      rewriteConfig(path, () => [{ append: ['keys'], row: { id: `key-${i}`, pool: 'team', secret_sha256: [hash] } }]),
    ),
  );
  const text = readFileSync(path, 'utf8');
  for (const hash of hashes) assert.ok(text.includes(hash));
});

test('an edit waits for others as long as they follow one another, and for three seconds for one that does nothing', async (context) => {
  const path = fileWith(context, SMALL);
  const draft = `${path}.edit`;
  let [now, looks, others] = [0, 0, 10];
  // Between two looks at the draft a second passes, and another edit follows as long as there are others.
  context.mock.method(performance, 'now', () => {
    looks += 1;
    if (others > 1) {
      writeFileSync(`${draft}-next`, '');
      renameSync(`${draft}-next`, draft);
    } else if (others === 1) rmSync(draft);
    others -= 1;
    now += 1_000;
    return now;
  });
  writeFileSync(draft, '');
  assert.equal(await rewriteConfig(path, pause), true);
  assert.equal(looks, 10);
  writeFileSync(draft, '');
  looks = 0;
  await assert.rejects(rewriteConfig(path, pause), new EditError(`another edit is in progress; if none is, remove ${draft}`));
  assert.equal(looks, 6);
});

test('a file that an editor saved during the edit is not overwritten', async (context) => {
  const path = fileWith(context, SMALL);
  const saved = `# by hand\n${SMALL}`;
  await assert.rejects(
    rewriteConfig(path, () => {
      writeFileSync(path, saved);
      return pause();
    }),
    EditError,
  );
  assert.equal(readFileSync(path, 'utf8'), saved);
});

for (const [code, reason] of [
  ['ENOSPC', 'the disk is full (ENOSPC)'],
  ['EIO', 'it cannot be replaced in its folder (EIO)'],
] as const) {
  for (const step of ['writeFile', 'sync'] as const) {
    test(`${code} in ${step}: the edit fails with a reason, and the file and its folder are as before`, async (context) => {
      const path = fileWith(context, SMALL);
      const any = await open(path);
      context.mock.method(Object.getPrototypeOf(any), step, () => Promise.reject(Object.assign(new Error(code), { code })));
      await any.close();
      await assert.rejects(rewriteConfig(path, pause), new EditError(`the file is unchanged, since ${reason}`));
      context.mock.restoreAll();
      assert.equal(readFileSync(path, 'utf8'), SMALL);
      assert.deepEqual(readdirSync(dirname(path)), ['config.yaml']);
    });
  }
}
