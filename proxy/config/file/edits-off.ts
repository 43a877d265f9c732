// Whether a file can be edited here at all: its folder takes the edited copy, which is then renamed.
import { access, constants, readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { REASONS } from './file-replacement.ts';

/** The reason; undefined if nothing is known to be in the way. */
export async function editsOff(path: string): Promise<string | undefined> {
  try {
    const target = await realpath(path);
    await access(dirname(target), constants.W_OK);
    return (await isMount(target)) ? sentence('EBUSY') : undefined;
  } catch (thrown) {
    const { code = 'unknown' } = thrown as NodeJS.ErrnoException;
    return sentence(code);
  }
}

const sentence = (code: string): string =>
  `the file cannot be edited here, since ${REASONS[code] ?? 'it cannot be replaced in its folder'} (${code})`;

/** A file that is mounted by itself, as in a container, cannot be replaced. Only Linux lists its mounts. */
async function isMount(path: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  // Octal escapes stand for blanks.
  const place = path.replace(/[ \t\n\\]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return mounts.split('\n').some((line) => line.split(' ', 5)[4] === place);
}
