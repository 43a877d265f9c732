// Runs a container without a container engine: the files that the Dockerfile copies, read-only, as a user that is not root, with volumes at
// their paths. Namespaces of an ordinary Linux user are enough; the base image is the /usr of this machine, and its network is that of this
// machine.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dockerfile } from './dockerfile.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export interface Volume {
  /** The path in the container. */
  readonly at: string;
  /** The path on this machine; undefined for an empty folder in memory. */
  readonly from?: string;
  readonly readOnly?: boolean;
}

export interface ContainerOptions {
  /** The command, instead of the entry point of the image. */
  readonly command?: readonly string[];
  /** The arguments, instead of those of the image. */
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly volumes?: readonly Volume[];
  readonly hostname?: string;
  /** The addresses of host names. */
  readonly hosts?: Readonly<Record<string, string>>;
}

/** Arguments: the folder of the root, the name of the host, its file of hosts, then `ro|rw FROM AT` for each mount, `--`, and the command. */
const SCRIPT = `
PATH=$PATH:/usr/sbin:/sbin
root=$1; hostname "$2"; hosts=$3; shift 3
mount -t tmpfs -o mode=755 tmpfs "$root"
cd "$root"
mkdir -p usr proc dev etc old poolgate/data
cp "$hosts" etc/hosts
system() { mount --rbind "$1" "$2"; mount -o remount,bind,ro "$2"; }
system /usr usr
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then ln -s "$(readlink "/$name")" "$name"
  elif [ -d "/$name" ]; then mkdir "$name"; system "/$name" "$name"; fi
done
mount --rbind /proc proc
mount --rbind /dev dev
while [ "$1" != -- ]; do
  at=".$3"
  if [ -f "$2" ]; then mkdir -p "$(dirname "$at")"; [ -e "$at" ] || : > "$at"; else mkdir -p "$at"; fi
  if [ "$2" = tmpfs ]; then mount -t tmpfs tmpfs "$at"
  else mount --bind "$2" "$at"; [ "$1" = rw ] || mount -o remount,bind,ro "$at"; fi
  shift 3
done
shift
mount -o remount,ro "$root"
pivot_root . old
cd /poolgate
umount -l /old
exec unshare --user --map-user=1000 --map-group=1000 env -i "$@"
`;

export class Container {
  readonly process: ChildProcess;
  #out = '';
  #err = '';

  constructor(child: ChildProcess) {
    this.process = child;
    child.stdout?.on('data', (text) => {
      this.#out += text;
    });
    child.stderr?.on('data', (text) => {
      this.#err += text;
    });
  }

  get out(): string {
    return this.#out;
  }

  get err(): string {
    return this.#err;
  }
}

/** The reason why this machine cannot run containers; undefined if it can. */
export function whyNoContainers(): string | undefined {
  const { status, stderr, error } = spawnSync(
    'unshare',
    ['--map-root-user', '--mount', '--uts', 'sh', '-ec', 'mount -t tmpfs tmpfs /tmp; unshare --user --map-user=1000 --map-group=1000 true'],
    { encoding: 'utf8', timeout: 10_000 },
  );
  return status === 0 ? undefined : `no namespaces for containers here: ${error?.message ?? stderr.trim()}`;
}

/** Starts a container, which ends with the test. */
export function startContainer(context: TestContext, options: ContainerOptions = {}): Container {
  const { command, args, env = {}, volumes = [], hostname = 'poolgate', hosts = {} } = options;
  const image = dockerfile();
  const folder = mkdtempSync(join(tmpdir(), 'poolgate-container-'));
  const root = join(folder, 'root');
  mkdirSync(root);
  const hostsFile = join(folder, 'hosts');
  const lines = Object.entries({ localhost: '127.0.0.1', [hostname]: '127.0.0.1', ...hosts }).map(
    ([name, address]) => `${address} ${name}\n`,
  );
  writeFileSync(hostsFile, lines.join(''));
  const node = dirname(process.execPath);
  const copied = [...image.copied, 'node_modules'].map((name) => ['ro', join(ROOT, name), `${image.workdir}/${name}`]);
  const mounted = volumes.map(({ at, from = 'tmpfs', readOnly = false }) => [readOnly ? 'ro' : 'rw', from, at]);
  const variables = { PATH: `${NODE_AT}:/usr/local/bin:/usr/bin:/bin`, ...image.env, ...env };
  const child = spawn(
    'unshare',
    [
      ...['--map-root-user', '--mount', '--uts', 'sh', '-ec', SCRIPT, 'sh', root, hostname, hostsFile],
      ...[['ro', node, NODE_AT], ...copied, ...mounted].flat(),
      '--',
      ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
      ...(command ?? [...image.entrypoint, ...(args ?? image.args)]),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  context.after(async () => {
    child.kill('SIGTERM');
    const killing = setTimeout(() => child.kill('SIGKILL'), END_MS);
    await ended;
    clearTimeout(killing);
    rmSync(folder, { recursive: true, force: true });
  });
  return new Container(child);
}

const NODE_AT = '/opt/node';

/** This is longer than a drain without turns takes. */
const END_MS = 20_000;

/** Runs a container until it ends. @returns its output */
export async function runContainer(context: TestContext, options: ContainerOptions): Promise<string> {
  const container = startContainer(context, options);
  const code = await new Promise<number | null>((resolve) => void container.process.once('close', resolve));
  if (code !== 0) throw new Error(`the container ended with ${code}: ${container.err}${container.out}`);
  return container.out;
}
