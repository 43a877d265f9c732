// Tells when a file changed, also where it is replaced rather than written: by editors, `mv`, and symlink swaps of mounted volumes.
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';

export interface WatchOptions {
  /** Quiet time after the last sign of a change, in milliseconds: a file that is being written is left alone. */
  readonly settle_ms?: number;
  /** How often the file is looked at where its file system sends no signs (network mounts), in milliseconds; 0: never. */
  readonly poll_ms?: number;
  /** What the watcher knows already: if the file is another one by now, that is a change. */
  readonly since?: FileState | undefined;
}

/** Tells two files of one name apart, and two states of one; undefined while there is none that we may see. */
export type FileState = string | undefined;

/** To be taken before a file is read, so that what is saved while it is being read is not missed. */
export const stateOf = (path: string): FileState => signature(resolve(path));

/**
 * Calls `changed` after the file has become another one: new content, or a new file under its name. Not while it is missing.
 * @returns An undo: afterwards nothing is called any more, and nothing keeps the process alive.
 */
export function watchFile(path: string, changed: () => void, options: WatchOptions = {}): () => void {
  const { settle_ms = 100, poll_ms = 5000 } = options;
  const file = resolve(path);
  let known = options.since ?? signature(file);
  let armed = '';
  let watchers: readonly FSWatcher[] = [];
  let settling: NodeJS.Timeout | undefined;

  const sign = () => {
    clearTimeout(settling);
    settling = setTimeout(look, settle_ms);
    settling.unref();
  };

  const look = () => {
    arm();
    const now = signature(file);
    if (now === undefined || now === known) return;
    known = now;
    changed();
  };

  /** Folders are watched, not the file: a watch on a file stays with the old one when it is replaced. */
  const arm = () => {
    const wanted = foldersOf(file);
    if (wanted.map(signature).join() === armed) return;
    for (const watcher of watchers) watcher.close();
    watchers = wanted.flatMap((folder) => {
      try {
        return [watch(folder, { persistent: false }, sign).on('error', sign)];
      } catch {
        // A folder that is not there, or not ours to watch: the poll finds what comes.
        return [];
      }
    });
    armed = wanted.map(signature).join();
  };

  arm();
  if (signature(file) !== known) sign();
  const poll = poll_ms > 0 ? setInterval(() => signature(file) !== known && sign(), poll_ms).unref() : undefined;
  return () => {
    clearTimeout(settling);
    clearInterval(poll);
    for (const watcher of watchers) watcher.close();
    watchers = [];
  };
}

/** The folders in which a change of the file shows: the one of its name, and the one that its links lead to. */
function foldersOf(file: string): readonly string[] {
  try {
    return [...new Set([dirname(file), dirname(realpathSync(file))])];
  } catch {
    return [dirname(file)];
  }
}

/** Of a folder only its identity: what happens inside is told by its watcher. */
function signature(path: string): FileState {
  try {
    const stat = statSync(path, { bigint: true });
    // The time of the last change of any kind: copying keeps the other one, and a file that may be read again is news as well.
    return [stat.dev, stat.ino, ...(stat.isDirectory() ? [] : [stat.size, stat.mtimeNs, stat.ctimeNs])].join(' ');
  } catch {
    return undefined;
  }
}
