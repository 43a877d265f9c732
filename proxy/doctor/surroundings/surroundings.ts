// Determines where the gateway runs: as a service of systemd, in a container, or in a pod of Kubernetes, alone or as a sidecar; and
// the limits of its control group. One line states what was found.
import { isLoopback } from '../../base/process/loopback.ts';
import type { SystemdUnit } from '../../base/process/machine.ts';
import type { Config } from '../../config/config.ts';
import type { Diagnosis } from '../diagnosis.ts';
import type { Host } from './host.ts';
import { mountOf } from './mounts.ts';

export type SurroundingsKind = 'kubernetes' | 'container' | 'systemd' | 'plain';

export interface Surroundings {
  readonly kind: SurroundingsKind;
  /** The service, with systemd. */
  readonly unit: SystemdUnit | null;
  readonly limits: GroupLimits;
  /** The clients that can reach the gateway: `socket` and `loopback` only from the same machine or pod. */
  readonly reach: 'socket' | 'loopback' | 'network';
  /** Whether the root file system is read-only. */
  readonly isReadOnly: boolean;
}

/** @param unit the service of the running gateway, otherwise of this process */
export function surroundingsOf({ listen }: Pick<Config, 'listen'>, host: Host, unit: SystemdUnit | null): Surroundings {
  return {
    kind: kindOf(host, unit),
    unit,
    limits: groupLimits(host),
    reach: listen.port === false ? 'socket' : isLoopback(listen.host) ? 'loopback' : 'network',
    isReadOnly: mountOf('/', host)?.isReadOnly ?? false,
  };
}

/** Files that container engines create in their containers. */
const MARKS = ['/.dockerenv', '/run/.containerenv'];
const GROUPS = /\/(?:docker|kubepods|libpod|containerd|crio|lxc)[-./:]/;

function kindOf(host: Host, unit: SystemdUnit | null): SurroundingsKind {
  if (host.env.KUBERNETES_SERVICE_HOST !== undefined) return 'kubernetes';
  const group = host.read('/proc/self/cgroup') ?? '';
  if (host.env.container !== undefined || MARKS.some((path) => host.exists(path)) || GROUPS.test(group)) return 'container';
  return unit ? 'systemd' : 'plain';
}

export function surroundingsDiagnosis({ kind, unit, limits, reach, isReadOnly }: Surroundings, host: Host): Diagnosis {
  const name: Readonly<Record<SurroundingsKind, string>> = {
    kubernetes: `the pod ${host.hostname} of Kubernetes${reach === 'network' ? '' : ', as a sidecar'}`,
    container: 'a container',
    systemd: `${unit?.name} of systemd`,
    plain: 'no container and no service of systemd',
  };
  const facts = [
    ...(limits.memory === undefined ? [] : [`${Math.floor(limits.memory / (1 << 20))} MiB of memory`]),
    ...(limits.processors === undefined ? [] : [`${Number(limits.processors.toFixed(2))} processors`]),
    ...(isReadOnly ? ['a root file system that is read-only'] : []),
    ...(host.uid === undefined ? [] : [`user ${host.uid}`]),
  ];
  const clients = { socket: '; clients connect at its socket', loopback: '; clients connect on loopback', network: '' }[reach];
  return {
    check: 'surroundings',
    level: 'ok',
    message: `This is ${name[kind]}${facts.length > 0 ? `: ${facts.join(', ')}` : ''}${clients}.`,
  };
}

interface GroupLimits {
  /** The limit of memory in bytes. Undefined means no limit. */
  readonly memory: number | undefined;
  /** The limit of processors, such as 1.5. Undefined means no limit. */
  readonly processors: number | undefined;
}

const ROOT = '/sys/fs/cgroup';

/** A larger number means no limit, because version 1 then states a number of pages near 2^63. */
const NO_LIMIT_BYTES = 2 ** 60;

/** Reads the limits of the control group of a container or service, from the files of both versions of Linux control groups. */
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
