// Watching the file: every kind of replacement is reported, and nothing is reported after the watch is stopped.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchFile } from '../../../proxy/config/file/file-watch.ts';
import { fileWith, folderFor } from '../files.ts';

/** Each call of `after` waits for the next change that the watch reports. */
function changesOf(context: TestContext, path: string, options: Parameters<typeof watchFile>[2] = {}) {
  let reported = 0;
  let heard: (() => void) | undefined;
  const undo = watchFile(
    path,
    () => {
      reported++;
      heard?.();
    },
    { settle_ms: 5, poll_ms: 0, ...options },
  );
  context.after(undo);
  return {
    undo,
    get reported() {
      return reported;
    },
    /** Makes a change, and resolves once it was reported. */
    async after(change: () => void) {
      const next = new Promise<void>((resolve) => {
        heard = resolve;
      });
      change();
      // The watch alone does not keep a process alive.
      const alive = setInterval(() => undefined, 1000);
      await next.finally(() => clearInterval(alive));
    },
  };
}

test('writing, replacing by rename, and removing and creating the file are each reported', async (context) => {
  const path = fileWith(context, 'one');
  const changes = changesOf(context, path);
  await changes.after(() => writeFileSync(path, 'one two'));
  for (const content of ['three', 'four!']) {
    await changes.after(() => {
      writeFileSync(`${path}.new`, content);
      renameSync(`${path}.new`, path);
    });
  }
  await changes.after(() => {
    rmSync(path);
    writeFileSync(path, 'five');
  });
});

test('swaps of the link of a mounted volume are reported', async (context) => {
  const folder = folderFor(context);
  const publish = (version: string) => {
    mkdirSync(join(folder, version));
    writeFileSync(join(folder, version, 'config.yaml'), version);
    symlinkSync(version, join(folder, '..data.new'));
    renameSync(join(folder, '..data.new'), join(folder, '..data'));
  };
  publish('v1');
  symlinkSync('..data/config.yaml', join(folder, 'config.yaml'));
  const changes = changesOf(context, join(folder, 'config.yaml'));
  await changes.after(() => publish('v2'));
  await changes.after(() => publish('v3'));
  await changes.after(() => writeFileSync(join(folder, 'v3/config.yaml'), 'written in place'));
});

test('the replacement of a linked file in another folder is reported', async (context) => {
  const target = fileWith(context, 'one');
  const path = join(folderFor(context), 'config.yaml');
  symlinkSync(target, path);
  const changes = changesOf(context, path);
  await changes.after(() => {
    writeFileSync(`${target}.new`, 'two');
    renameSync(`${target}.new`, target);
  });
});

test('polling finds a change without signals', async (context) => {
  const parent = folderFor(context);
  const path = join(parent, 'later', 'config.yaml');
  // The folder does not exist yet, so there is nothing to watch.
  const changes = changesOf(context, path, { poll_ms: 5 });
  await changes.after(() => {
    mkdirSync(dirname(path));
    writeFileSync(path, 'one');
  });
});

test('changes of other files are not reported, and none after the watch is stopped', async (context) => {
  const path = fileWith(context, 'one');
  const stopped = changesOf(context, path);
  const second = changesOf(context, path, { settle_ms: 20 });
  writeFileSync(join(dirname(path), 'neighbour.yaml'), 'x');
  stopped.undo();
  await second.after(() => writeFileSync(path, 'two'));
  assert.equal(stopped.reported, 0);
  assert.equal(second.reported, 1);
});
