// A folder for temporary files in memory. Tests make thousands of small files, including all tables of a PostgreSQL for each test that
// needs an empty one; on a disk the file system took two thirds of their processor time.
import { readFileSync, statfsSync } from 'node:fs';

/** The usual folder of Linux. */
const FOLDER = '/dev/shm';

/** The free space that is required, which is four times the files of a run. */
const FREE_BYTES = 2 * 2 ** 30;

/** Undefined if there is none, if it has too little space, or if programs in it cannot run. */
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
