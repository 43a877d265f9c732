// Finds the file system of a path among the mounts of the process.
import type { Host } from './host.ts';

export interface Mount {
  /** The path at which it is mounted. */
  readonly at: string;
  /** The type of the file system, such as `ext4`, `overlay` or `nfs4`. */
  readonly type: string;
  readonly isReadOnly: boolean;
}

/** Undefined if the system does not state its mounts. */
export function mountOf(path: string, host: Host): Mount | undefined {
  let found: Mount | undefined;
  for (const mount of mountsIn(host.read('/proc/self/mountinfo') ?? '')) {
    const isAbove = mount.at === '/' || path === mount.at || path.startsWith(`${mount.at}/`);
    // If two mounts have the same path, the later one hides the earlier one.
    if (isAbove && mount.at.length >= (found?.at.length ?? 0)) found = mount;
  }
  return found;
}

/** Reads the fields of proc(5): the path is the fifth, the options follow it, and the type follows a single hyphen. */
function mountsIn(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const fields = line.split(' ');
    const [place, options = ''] = [fields[4], fields[5]];
    const hyphen = fields.indexOf('-', 6);
    if (place === undefined || hyphen === -1) return [];
    const ofSystem = fields[hyphen + 3] ?? '';
    const isReadOnly = [options, ofSystem].some((list) => list.split(',').includes('ro'));
    return [{ at: unescaped(place), type: fields[hyphen + 1] ?? '', isReadOnly }];
  });
}

/** Decodes spaces, tabs, newlines and backslashes, which are octal in these files. */
const unescaped = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));

const NETWORKED =
  /^(?:nfs4?|cifs|smb3?|smbfs|ceph|glusterfs|lustre|gpfs|beegfs|afs|fuse\.(?:glusterfs|sshfs|s3fs|juicefs|ceph|gcsfuse|rclone|blobfuse2?))$/;

/** Whether other machines can mount the same file system. */
export const isNetworked = ({ type }: Mount): boolean => NETWORKED.test(type);

export const isInMemory = ({ type }: Mount): boolean => type === 'tmpfs' || type === 'ramfs';
