// Reads the limits of the control group of a container or service, from the files of both versions of Linux control groups.
import type { Host } from './host.ts';

export interface GroupLimits {
  /** The limit of memory in bytes. Undefined means no limit. */
  readonly memory: number | undefined;
  /** The limit of processors, such as 1.5. Undefined means no limit. */
  readonly processors: number | undefined;
}

const ROOT = '/sys/fs/cgroup';

/** A larger number means no limit, because version 1 then states a number of pages near 2^63. */
const NO_LIMIT_BYTES = 2 ** 60;

export function groupLimits(host: Host): GroupLimits {
  const folders = unifiedFolders(host);
  const memory = lowest(folders.map((folder) => bytesIn(host.read(`${folder}/memory.max`))));
  const processors = lowest(folders.map((folder) => quotaIn(host.read(`${folder}/cpu.max`)?.trim().split(' ') ?? [])));
  const { read } = host;
  return {
    memory: memory ?? bytesIn(read(`${ROOT}/memory/memory.limit_in_bytes`)),
    processors: processors ?? quotaIn([read(`${ROOT}/cpu/cpu.cfs_quota_us`) ?? '', read(`${ROOT}/cpu/cpu.cfs_period_us`) ?? '']),
  };
}

/**
 * The folders of the process's group in version 2 and of the groups above it, because the lowest limit applies. In a container the group is
 * the root.
 */
function unifiedFolders(host: Host): readonly string[] {
  const group = /^0::(\/.*)$/m.exec(host.read('/proc/self/cgroup') ?? '')?.[1] ?? '/';
  const names = group.split('/').filter((name) => name !== '' && name !== '..');
  return [...names.keys(), names.length].map((depth) => [ROOT, ...names.slice(0, depth)].join('/'));
}

function bytesIn(text: string | undefined): number | undefined {
  const bytes = Number.parseInt(text ?? '', 10);
  return bytes > 0 && bytes < NO_LIMIT_BYTES ? bytes : undefined;
}

/** The number of processors from the time per period and the period, in microseconds. `max` and -1 mean no limit. */
function quotaIn([quota = '', period = '']: readonly string[]): number | undefined {
  const processors = Number.parseInt(quota, 10) / Number.parseInt(period, 10);
  return processors > 0 ? processors : undefined;
}

function lowest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
