// The folder of a run, with all temporary files of its tests. A run that was killed leaves its folder; the next run removes it.
import { chmodSync, mkdirSync, readdirSync, readlinkSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Process ids are unique in a namespace, such as a container. Runs in others may share the parent folder. */
function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '');
  } catch {
    return '0';
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Removes the folders of runs that have ended, and makes one for this process. */
export function runFolder(parent: string): string {
  const prefix = `poolgate-run-${namespace()}-`;
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(prefix) ? Number(name.slice(prefix.length)) : Number.NaN;
    // An earlier process may have had the id of this one.
    if (Number.isInteger(pid) && (pid === process.pid || !isRunning(pid))) removeFolder(join(parent, name));
  }
  const folder = join(parent, `${prefix}${process.pid}`);
  mkdirSync(folder);
  // PostgreSQL runs as another user if the tests run as root.
  chmodSync(folder, 0o711);
  return folder;
}

/** Processes that end may still write to the folder. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
