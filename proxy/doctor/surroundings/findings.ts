// What an operator can improve in the surroundings of the gateway, each with the setting there.
import { dirname } from 'node:path';
import { isLoopback } from '../../base/process/loopback.ts';
import type { Config } from '../../config/config.ts';
import type { Diagnosis } from '../diagnosis.ts';
import type { Host } from './host.ts';
import { isInMemory, isNetworked, mountOf } from './mounts.ts';
import type { Surroundings } from './surroundings.ts';

type Found = Generator<Diagnosis>;
/** The settings that the surroundings concern. */
export type Placed = Pick<Config, 'listen' | 'metrics' | 'store' | 'node'>;

const check = 'surroundings';
const warning = (message: string, advice: string): Diagnosis => ({ check, level: 'warning', message, advice });
const problem = (message: string, advice: string): Diagnosis => ({ check, level: 'problem', message, advice });

export function* surroundingsFindings(config: Placed, host: Host, around: Surroundings): Found {
  const isContained = around.kind === 'container' || around.kind === 'kubernetes';
  if (around.unit) yield* unitFindings(around.unit);
  if (around.kind !== 'plain') yield* rightFindings(host, around);
  yield* dataFindings(config, host, isContained);
  if (isContained) yield* containerFindings(config, host, around);
  if (around.kind === 'kubernetes') yield* podFindings(config, host, around);
}

function* unitFindings({ name, notify }: NonNullable<Surroundings['unit']>): Found {
  if (!notify) return;
  yield warning(
    `${name} expects that the gateway notifies it, which the gateway does not: systemd stops it after TimeoutStartSec.`,
    'Set `Type=exec` in the unit, as in deploy/poolgate.service.',
  );
}

function* rightFindings({ uid }: Host, { kind }: Surroundings): Found {
  if (uid !== 0) return;
  const settings = {
    kubernetes: 'Set `runAsNonRoot: true` and `runAsUser` in the securityContext of the pod, and `fsGroup` for its volume.',
    container: 'Leave out `user: root`: the image has the user node, to whom the data volume has to belong.',
    systemd: 'Set `User=` in the unit, and give the data directory to that user.',
    plain: '',
  };
  yield warning('This is the user root (0), whose rights the gateway does not need.', settings[kind]);
}

function* dataFindings({ store }: Placed, host: Host, isContained: boolean): Found {
  const folder = sqliteFolder(store);
  const mount = folder === undefined ? undefined : mountOf(folder, host);
  if (!mount) return;
  const where = `The database in ${folder}`;
  const volume = `Mount a volume at ${folder}.`;
  if (mount.isReadOnly)
    yield problem(`${where} cannot be written: its file system is read-only.`, isContained ? volume : `Make ${mount.at} writable.`);
  else if (isContained && mount.at === '/')
    yield warning(`${where} is in the container itself: it is lost with the container, and the logins of accounts with it.`, volume);
  else if (isInMemory(mount))
    yield warning(
      `${where} is in memory (${mount.type}): it is lost with a restart of the ${isContained ? 'container' : 'machine'}.`,
      isContained ? volume : 'Choose another `store`.',
    );
  else if (isNetworked(mount)) {
    const message = `${where} is on a file system of the network (${mount.type}): SQLite needs a local one, and other machines can open it too.`;
    yield warning(message, 'Put it on a volume that one machine has (ReadWriteOnce), or use PostgreSQL.');
  }
}

function* containerFindings({ listen }: Placed, host: Host, { kind, limits, reach }: Surroundings): Found {
  if (limits.processors !== undefined && limits.processors < 1) {
    const share = Number(limits.processors.toFixed(2));
    const message = `The container has ${share} of a processor: the system stops it in every period of 100 ms, and all turns wait until the next period.`;
    yield warning(message, 'Give it at least one processor, or a request without a limit.');
  }
  if (kind === 'container' && reach === 'loopback') {
    const message = `listen.host is ${listen.host}: unless the container has the network of its host, no client outside it can connect.`;
    yield warning(message, 'Set `listen.host: 0.0.0.0`, and publish the port to those who may connect.');
  }
  const socket = listen.unix && mountOf(dirname(listen.unix.path), host);
  if (listen.unix && socket?.at === '/') {
    const message = `The socket ${listen.unix.path} is in the container itself: other containers cannot reach it.`;
    yield warning(message, `Mount a volume at ${dirname(listen.unix.path)} in both containers.`);
  }
}

const TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';
/** Matches the names of pods of a Deployment. They end in the digest of its template, and five letters of an alphabet without vowels. */
const OF_DEPLOYMENT = /-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$/;

function* podFindings({ metrics, store, node }: Placed, host: Host, { limits, reach }: Surroundings): Found {
  if (host.exists(TOKEN)) {
    yield warning(
      'The pod has a token for the API of Kubernetes, which the gateway does not need.',
      'Set `automountServiceAccountToken: false`.',
    );
  }
  if (limits.memory === undefined) {
    const message = 'The container has no limit of memory: the gateway measures itself against the whole node.';
    yield warning(message, 'Set `resources.limits.memory`.');
  }
  yield* probeFindings(metrics, reach);
  if (typeof store === 'string') {
    if (!OF_DEPLOYMENT.test(host.hostname)) return;
    const message = `${host.hostname} is a pod of a Deployment, which starts the next pod before this one ends: two gateways would use one SQLite file.`;
    yield warning(message, 'Use a StatefulSet with one replica (deploy/kubernetes/sqlite), or PostgreSQL.');
  } else if (node.id !== host.hostname) {
    const message = `node.id is '${node.id}', and the name of the pod is ${host.hostname}: all pods of this configuration have the same id.`;
    yield warning(message, 'Leave `node.id` out: it is the name of the pod then.');
  }
}

/** The kubelet is outside the pod, so it can reach neither loopback nor a socket. */
function* probeFindings(metrics: Placed['metrics'], reach: Surroundings['reach']): Found {
  // If the clients are in the pod, the probe is a command.
  if (reach !== 'network') return;
  const advice = 'Set `metrics: { host: 0.0.0.0, port: 4003 }`, with httpGet of /readyz and /healthz at this port.';
  if (metrics === false) yield warning('There is no metrics listener, so probes of the pod have no address.', advice);
  else if (isLoopback(metrics.host)) yield warning(`metrics.host is ${metrics.host}: probes come from outside the pod.`, advice);
}

function sqliteFolder(store: Placed['store']): string | undefined {
  const path = typeof store === 'string' ? store.replace(/^sqlite:/, '') : ':memory:';
  return path === ':memory:' ? undefined : dirname(path);
}
