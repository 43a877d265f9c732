// A folder for temporary files that is in memory. Tests make thousands of small files, among them all tables of a PostgreSQL for each test
// that wants an empty one; on a disk the file system took two thirds of the processor time of that.
import { readFileSync, statfsSync } from 'node:fs';

/** Where Linux has one. */
const FOLDER = '/dev/shm';

/** All files of a run take a quarter of it. */
const FREE_BYTES = 2 * 2 ** 30;

/** Undefined if there is none, if it has too little room, or if programs in it cannot run. */
export function memoryFolder(): string | undefined {
  try {
    const mount = readFileSync('/proc/mounts', 'utf8').match(new RegExp(`^\\S+ ${FOLDER} tmpfs (\\S+)`, 'm'));
    const options = mount?.[1]?.split(',') ?? ['ro'];
    if (options.includes('ro') || options.includes('noexec')) return undefined;
    const { bavail, bsize } = statfsSync(FOLDER);
    return bavail * bsize >= FREE_BYTES && process.availableMemory() >= 2 * FREE_BYTES ? FOLDER : undefined;
  } catch {
    return undefined;
  }
}
