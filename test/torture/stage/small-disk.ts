// A disk of some megabytes for the store: a file system in memory, mounted in a separate namespace in which the gateway runs. It needs
// Linux with user namespaces, and util-linux.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/** Thrown if this machine cannot mount such a disk. */
export class NoSmallDisk extends Error {
  override readonly name = 'NoSmallDisk';

  constructor() {
    super('this machine mounts no disk in a namespace of its own');
  }
}

const BLOCK = Buffer.alloc(4_096, 'x');

export class SmallDisk {
  /** A command that runs the rest of its line where the disk is mounted. */
  readonly inside: readonly string[];
  /** The path of the mounted folder for this process. */
  readonly path: string;
  readonly #holder: ChildProcess;
  readonly #folder: string;

  private constructor(holder: ChildProcess, folder: string) {
    this.#holder = holder;
    this.#folder = folder;
    this.inside = ['nsenter', '--target', String(holder.pid), '--user', '--mount', '--preserve-credentials', '--'];
    this.path = `/proc/${holder.pid}/root${folder}`;
  }

  /** Mounts the disk on the folder. @throws NoSmallDisk */
  static async open(folder: string, megabytes: number): Promise<SmallDisk> {
    mkdirSync(folder, { recursive: true });
    // The process ends with its standard input, and the namespace with the process.
    const script = `mount -t tmpfs -o size=${megabytes}m,mode=700 tmpfs '${folder}' && echo mounted && exec cat`;
    const holder = spawn('unshare', ['--map-root-user', '--mount', 'sh', '-c', script], { stdio: ['pipe', 'pipe', 'pipe'] });
    const over = once(holder, 'exit').then(() => Promise.reject(new NoSmallDisk()));
    await Promise.race([once(holder.stdout, 'data'), once(holder, 'error').then(() => Promise.reject(new NoSmallDisk())), over]);
    over.catch(() => undefined);
    return new SmallDisk(holder, folder);
  }

  /** Takes the remaining space. */
  fill(): void {
    const ballast = openSync(join(this.path, 'ballast'), 'a');
    try {
      for (;;) writeSync(ballast, BLOCK);
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error;
    } finally {
      closeSync(ballast);
    }
  }

  /** Frees the space again. */
  free(): void {
    rmSync(join(this.path, 'ballast'), { force: true });
  }

  /** @throws Error if a file on the disk is open for writing */
  remount(mode: 'ro' | 'rw'): void {
    const [program = '', ...args] = this.inside;
    execFileSync(program, [...args, 'mount', '-o', `remount,${mode}`, this.#folder], { stdio: 'ignore' });
  }

  close(): void {
    this.#holder.kill('SIGKILL');
  }
}
