// Whether this process can edit the file. Its folder must accept the edited copy, which is then renamed.
import { access, constants, readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { REASONS } from './file-replacement.ts';

/** The reason why the file cannot be edited; undefined if none is known. */
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

/** Whether the file is itself a mount, as in a container. Such a file cannot be replaced. Only Linux lists its mounts. */
async function isMount(path: string): Promise<boolean> {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  // In the list, blanks are written as octal escapes.
  const place = path.replace(/[ \t\n\\]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`);
  return mounts.split('\n').some((line) => line.split(' ', 5)[4] === place);
}
