// Determines where the gateway runs: as a service of systemd, in a container, or in a pod of Kubernetes, alone or as a sidecar. One line
// states what was found.
import { isLoopback } from '../../base/process/loopback.ts';
import type { SystemdUnit } from '../../base/process/machine.ts';
import type { Config } from '../../config/config.ts';
import type { Diagnosis } from '../diagnosis.ts';
import { type GroupLimits, groupLimits } from './control-group.ts';
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
