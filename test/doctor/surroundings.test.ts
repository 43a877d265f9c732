// The findings of `doctor` about the surroundings of the gateway: systemd, containers, pods and sidecars, according to their files and
// variables.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SystemdUnit, unitOf } from '../../proxy/base/process/machine.ts';
import type { Config } from '../../proxy/config/config.ts';
import { inspect } from '../../proxy/config/loading/load.ts';
import type { Diagnosis } from '../../proxy/doctor/diagnosis.ts';
import { machineDiagnoses } from '../../proxy/doctor/machine-checks.ts';
import { surroundingsFindings } from '../../proxy/doctor/surroundings/findings.ts';
import type { Host } from '../../proxy/doctor/surroundings/host.ts';
import { mountOf } from '../../proxy/doctor/surroundings/mounts.ts';
import { groupLimits, surroundingsDiagnosis, surroundingsOf } from '../../proxy/doctor/surroundings/surroundings.ts';
import { SMALL } from '../config/files.ts';
import { doctor, fileFor } from './support.ts';

interface Stated {
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly hostname?: string;
  readonly files?: Readonly<Record<string, string>>;
}

const hostOf = ({ env = {}, uid = 1000, hostname = 'poolgate-0', files = {} }: Stated): Host => ({
  env,
  uid,
  hostname,
  read: (path) => files[path],
  exists: (path) => path in files,
});

const mounts = (...lines: readonly (readonly [at: string, type: string, options?: string])[]): Readonly<Record<string, string>> => ({
  '/proc/self/mountinfo': lines
    .map(([at, type, options = 'rw'], i) => `${i} 1 0:${i} / ${at} ${options} shared:1 - ${type} x rw\n`)
    .join(''),
});

const DATA = '/poolgate/data';
const OVERLAY = ['/', 'overlay', 'ro'] as const;
const VOLUME = [DATA, 'ext4'] as const;
const LIMITS = { '/sys/fs/cgroup/memory.max': '2147483648\n', '/sys/fs/cgroup/cpu.max': '150000 100000\n' };
const CONTAINER = { '/.dockerenv': '', ...LIMITS };
const POD = { KUBERNETES_SERVICE_HOST: '10.96.0.1' };
const NETWORK = 'listen: { host: 0.0.0.0, port: 4000 }\nmetrics: { host: 0.0.0.0, port: 4003 }\n';
const SIDECAR = 'listen: { port: false, unix: { path: /run/poolgate/poolgate.sock } }\n';
const POSTGRES = 'store: { postgres: { env: DATABASE_URL } }\n';

async function configOf(more: string): Promise<Config> {
  const rest = SMALL.split('\n').filter((line) => !more.includes('listen:') || !line.startsWith('listen:'));
  const store = more.includes('store:') ? '' : `store: sqlite:${DATA}/poolgate.db\n`;
  const text = [...rest.filter((line) => !line.startsWith('store:')), `${store}${more}`].join('\n');
  const { config, findings } = await inspect(text, { path: '/poolgate/config.yaml', secrets: false });
  assert.ok(config, JSON.stringify(findings));
  return config;
}

async function diagnosed(more: string, stated: Stated, unit: SystemdUnit | null = null): Promise<readonly Diagnosis[]> {
  const [config, host] = [await configOf(more), hostOf(stated)];
  const around = surroundingsOf(config, host, unit);
  return [surroundingsDiagnosis(around, host), ...surroundingsFindings(config, host, around)];
}

const UNIT = { name: 'poolgate.service', notify: false };

test('one line names what was found, and the shipped manifests have no finding', async () => {
  const rows: readonly (readonly [more: string, Stated, SystemdUnit | null, line: string])[] = [
    [NETWORK, { files: mounts(['/', 'ext4']) }, null, 'This is no container and no service of systemd: user 1000.'],
    [NETWORK, { files: mounts(['/', 'ext4']) }, UNIT, 'This is poolgate.service of systemd: user 1000.'],
    [
      NETWORK,
      { files: { ...CONTAINER, ...mounts(OVERLAY, VOLUME) } },
      null,
      'This is a container: 2048 MiB of memory, 1.5 processors, a root file system that is read-only, user 1000.',
    ],
    [NETWORK, { env: { container: 'podman' }, files: mounts(['/', 'overlay'], VOLUME) }, null, 'This is a container: user 1000.'],
    [
      NETWORK,
      { env: POD, files: { ...LIMITS, ...mounts(OVERLAY, VOLUME) } },
      null,
      'This is the pod poolgate-0 of Kubernetes: 2048 MiB of memory, 1.5 processors, a root file system that is read-only, user 1000.',
    ],
    [
      SIDECAR,
      { env: POD, files: { ...LIMITS, ...mounts(OVERLAY, VOLUME, ['/run/poolgate', 'tmpfs']) } },
      null,
      'This is the pod poolgate-0 of Kubernetes, as a sidecar: 2048 MiB of memory, 1.5 processors, a root file system that is read-only, user 1000; clients connect at its socket.',
    ],
    [
      'listen: { host: 127.0.0.1, port: 4000 }\n',
      { env: POD, files: { ...LIMITS, ...mounts(VOLUME) } },
      null,
      'This is the pod poolgate-0 of Kubernetes, as a sidecar: 2048 MiB of memory, 1.5 processors, user 1000; clients connect on loopback.',
    ],
  ];
  for (const [more, stated, unit, line] of rows) {
    assert.deepEqual(await diagnosed(more, stated, unit), [{ check: 'surroundings', level: 'ok', message: line }]);
  }
});

test('each finding says what to do', async () => {
  const pod = (stated: Stated = {}): Stated => ({ env: POD, ...stated, files: { ...LIMITS, ...mounts(OVERLAY, VOLUME), ...stated.files } });
  const container = (stated: Stated = {}): Stated => ({ ...stated, files: { ...CONTAINER, ...mounts(OVERLAY, VOLUME), ...stated.files } });
  const rows: readonly (readonly [more: string, Stated, SystemdUnit | null, message: RegExp, advice: RegExp])[] = [
    [NETWORK, {}, { ...UNIT, notify: true }, /^warning: poolgate\.service expects that the gateway notifies it/, /`Type=exec`/],
    [NETWORK, { uid: 0 }, UNIT, /^warning: This is the user root/, /`User=`/],
    [NETWORK, container({ uid: 0 }), null, /^warning: This is the user root/, /the user node/],
    [NETWORK, pod({ uid: 0 }), null, /^warning: This is the user root/, /`runAsNonRoot: true`/],
    [NETWORK, container({ files: mounts(OVERLAY) }), null, /^problem: .* in \/poolgate\/data cannot be written/, /Mount a volume at/],
    [NETWORK, { files: mounts(['/', 'ext4', 'ro']) }, UNIT, /^problem: .* cannot be written/, /Make \/ writable/],
    [NETWORK, container({ files: mounts(['/', 'overlay']) }), null, /^warning: .* lost with the container/, /Mount a volume at/],
    [NETWORK, container({ files: mounts(OVERLAY, [DATA, 'tmpfs']) }), null, /^warning: .* in memory \(tmpfs\)/, /Mount a volume at/],
    [NETWORK, { files: mounts(['/', 'ext4'], ['/poolgate', 'tmpfs']) }, null, /^warning: .* restart of the machine/, /another `store`/],
    [NETWORK, pod({ files: mounts(OVERLAY, [DATA, 'nfs4']) }), null, /^warning: .* of the network \(nfs4\)/, /ReadWriteOnce/],
    [NETWORK, { files: mounts(['/', 'ext4'], [DATA, 'cifs']) }, null, /^warning: .* of the network \(cifs\)/, /PostgreSQL/],
    [
      NETWORK,
      container({ files: { '/sys/fs/cgroup/cpu.max': '50000 100000' } }),
      null,
      /^warning: .* has 0\.5 of a processor/,
      /at least one/,
    ],
    [
      'listen: { host: 127.0.0.1, port: 4000 }\n',
      container(),
      null,
      /^warning: listen\.host is 127\.0\.0\.1/,
      /`listen\.host: 0\.0\.0\.0`/,
    ],
    [SIDECAR, pod(), null, /^warning: The socket \/run\/poolgate\/poolgate\.sock is in the container/, /volume at \/run\/poolgate in both/],
    [
      NETWORK,
      pod({ files: { '/var/run/secrets/kubernetes.io/serviceaccount/token': 'x' } }),
      null,
      /^warning: The pod has a token/,
      /`automountServiceAccountToken: false`/,
    ],
    [NETWORK, pod({ files: { '/sys/fs/cgroup/memory.max': 'max' } }), null, /^warning: .* no limit of memory/, /resources\.limits\.memory/],
    ['listen: { host: 0.0.0.0, port: 4000 }\n', pod(), null, /^warning: There is no metrics listener/, /`metrics: \{ host: 0\.0\.0\.0/],
    [NETWORK.replace('0.0.0.0, port: 4003', '127.0.0.1, port: 4003'), pod(), null, /^warning: metrics\.host is 127\.0\.0\.1/, /httpGet/],
    [
      NETWORK,
      pod({ hostname: 'poolgate-6d4cf56db6-x7k2p' }),
      null,
      /^warning: .* is a pod of a Deployment/,
      /StatefulSet with one replica/,
    ],
    [
      `${NETWORK}${POSTGRES}node: { id: one }\n`,
      pod({ hostname: 'poolgate-6d4cf56db6-x7k2p' }),
      null,
      /^warning: node\.id is 'one', and the name of the pod is poolgate-6d4cf56db6-x7k2p/,
      /Leave `node\.id` out/,
    ],
  ];
  for (const [more, stated, unit, message, advice] of rows) {
    const [named, found, ...others] = await diagnosed(more, stated, unit);
    assert.equal(named?.level, 'ok');
    assert.match(`${found?.level}: ${found?.message}`, message);
    assert.match(found?.advice ?? '', advice);
    assert.deepEqual(others, [], String(message));
  }
});

test('limits are read from both versions of control groups, and the lowest of the groups above holds', () => {
  const rows: readonly (readonly [Readonly<Record<string, string>>, memory: number | undefined, processors: number | undefined])[] = [
    [{}, undefined, undefined],
    [{ '/sys/fs/cgroup/memory.max': 'max\n', '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, undefined, undefined],
    [LIMITS, 2 ** 31, 1.5],
    [
      {
        '/proc/self/cgroup': '0::/system.slice/poolgate.service\n',
        '/sys/fs/cgroup/system.slice/memory.max': '1000',
        '/sys/fs/cgroup/system.slice/poolgate.service/memory.max': '2000',
        '/sys/fs/cgroup/system.slice/poolgate.service/cpu.max': '200000 100000',
      },
      1000,
      2,
    ],
    [
      {
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '1073741824\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '25000\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      },
      2 ** 30,
      0.25,
    ],
    [
      {
        '/sys/fs/cgroup/memory/memory.limit_in_bytes': '9223372036854771712\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n',
        '/sys/fs/cgroup/cpu/cpu.cfs_period_us': '100000\n',
      },
      undefined,
      undefined,
    ],
  ];
  for (const [files, memory, processors] of rows) assert.deepEqual(groupLimits(hostOf({ files })), { memory, processors });
});

test('a path is on the deepest mount above it, and on the last of those at one place', () => {
  const host = hostOf({
    files: mounts(['/', 'overlay'], ['/a\\040b', 'ext4'], ['/a\\040b', 'nfs'], ['/a', 'xfs', 'ro,relatime'], ['/ab', 'tmpfs']),
  });
  for (const [path, type, isReadOnly] of [
    ['/', 'overlay', false],
    ['/x/y', 'overlay', false],
    ['/a b/c', 'nfs', false],
    ['/a', 'xfs', true],
    ['/a/c', 'xfs', true],
    ['/ab/c', 'tmpfs', false],
    ['/abc', 'overlay', false],
  ] as const) {
    const mount = mountOf(path, host);
    assert.deepEqual([mount?.type, mount?.isReadOnly], [type, isReadOnly], path);
  }
  assert.equal(mountOf('/', hostOf({})), undefined);
});

test('the service of systemd is known by its control group, and a session of a user is none', () => {
  const env = { INVOCATION_ID: 'a' };
  for (const [given, groups, unit] of [
    [env, '0::/system.slice/poolgate.service\n', UNIT],
    [{ ...env, NOTIFY_SOCKET: '/run/systemd/notify' }, '0::/system.slice/poolgate.service\n', { ...UNIT, notify: true }],
    [env, '2:cpu:/x.service\n1:name=systemd:/system.slice/poolgate.service\n', UNIT],
    [{}, '0::/system.slice/poolgate.service\n', null],
    [env, '0::/user.slice/user-1000.slice/user@1000.service/app.slice/terminal.scope\n', null],
    [env, '0::/user.slice/user@1000.service\n', null],
    [env, '', null],
  ] as const) {
    assert.deepEqual(unitOf(given, groups), unit, groups);
  }
});

test('the limit of open files is raised where the surroundings set it', async () => {
  const config = await configOf(`${NETWORK}limits: { connections: 1000 }\n`);
  for (const [kind, advice] of [
    ['systemd', /^Set `LimitNOFILE=2256` in the unit, or set limits\.connections to at most 384\.$/],
    ['container', /^Set `--ulimit nofile=2256`, or `ulimits: \{ nofile: 2256 \}` of Compose, or/],
    ['kubernetes', /^Raise the limit of the container engine of the node to 2256, or/],
    ['plain', /^Raise the limit \(`ulimit -n 2256`\), or/],
  ] as const) {
    const [, files] = machineDiagnoses(config, { memory_bytes: 2 ** 40, open_files: 1024 }, kind);
    assert.match(files?.advice ?? '', advice);
  }
});

test('the command reads the surroundings of its own process', async (context) => {
  const [named] = (await doctor(fileFor(context), ['--offline'], POD)).of('surroundings');
  assert.match(named ?? '', /^ok: This is the pod \S+ of Kubernetes, as a sidecar/);
});
