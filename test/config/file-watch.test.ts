// Watching the file: however it is replaced, and not a moment after the undo. Signs come from the file system; nothing waits for luck.
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { watchFile } from '../../proxy/config/file-watch.ts';
import { fileWith, folderFor } from './files.ts';

/** Each call waits for the next change that the watch tells. */
function changesOf(context: TestContext, path: string, options: Parameters<typeof watchFile>[2] = {}) {
  let told = 0;
  let heard: (() => void) | undefined;
  const undo = watchFile(
    path,
    () => {
      told++;
      heard?.();
    },
    { settle_ms: 5, poll_ms: 0, ...options },
  );
  context.after(undo);
  return {
    undo,
    get told() {
      return told;
    },
    /** Makes a change, and resolves once it was told. */
    async after(change: () => void) {
      const next = new Promise<void>((resolve) => {
        heard = resolve;
      });
      change();
      // The watch alone keeps no process alive.
      const alive = setInterval(() => undefined, 1000);
      await next.finally(() => clearInterval(alive));
    },
  };
}

test('a file that is written, replaced by rename, or removed and made again is told each time', async (context) => {
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

test('a swap of the link that a mounted volume hangs on is told, and the next one too', async (context) => {
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

test('a file behind a link in another folder is told when it is replaced there', async (context) => {
  const target = fileWith(context, 'one');
  const path = join(folderFor(context), 'config.yaml');
  symlinkSync(target, path);
  const changes = changesOf(context, path);
  await changes.after(() => {
    writeFileSync(`${target}.new`, 'two');
    renameSync(`${target}.new`, target);
  });
});

test('where no signs come, looking from time to time finds the change', async (context) => {
  const parent = folderFor(context);
  const path = join(parent, 'later', 'config.yaml');
  // The folder does not exist yet, so there is nothing to watch.
  const changes = changesOf(context, path, { poll_ms: 5 });
  await changes.after(() => {
    mkdirSync(dirname(path));
    writeFileSync(path, 'one');
  });
});

test('a neighbour in the folder is no change, and after the undo nothing is told', async (context) => {
  const path = fileWith(context, 'one');
  const stopped = changesOf(context, path);
  const witness = changesOf(context, path, { settle_ms: 20 });
  writeFileSync(join(dirname(path), 'neighbour.yaml'), 'x');
  stopped.undo();
  await witness.after(() => writeFileSync(path, 'two'));
  assert.equal(stopped.told, 0);
  assert.equal(witness.told, 1);
});
