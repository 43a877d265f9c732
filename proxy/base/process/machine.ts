// The limits that the machine or its container sets for this process (memory and open files), and the systemd service that started it.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

export interface Machine {
  readonly memory_bytes: number;
  /** The most open files and sockets; null if the system states no limit. */
  readonly open_files: number | null;
  /** The systemd service that started this process. */
  readonly unit: SystemdUnit | null;
}

export interface SystemdUnit {
  /** The name of the service, such as `poolgate.service`. */
  readonly name: string;
  /** Whether systemd waits for a notification of the start, as with `Type=notify`. */
  readonly notify: boolean;
}

export const machine = (): Machine => ({
  memory_bytes: usableMemory(),
  open_files: openFiles(),
  unit: unitOf(process.env, textOf('/proc/self/cgroup')),
});

/** The usable memory in bytes. If its container has no limit, the process may use all memory of the machine. */
export function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** The limit of open files. Node has raised it to the hard limit at its start. */
function openFiles(): number | null {
  const limit = /^Max open files\s+(\d+)/m.exec(textOf('/proc/self/limits'))?.[1];
  return limit === undefined ? null : Number(limit);
}

/**
 * The systemd service in the environment. A user's session does not count, although a variable of systemd can be set in it.
 * @param groups the text of /proc/self/cgroup
 */
export function unitOf({ INVOCATION_ID, NOTIFY_SOCKET }: NodeJS.ProcessEnv, groups: string): SystemdUnit | null {
  const name = INVOCATION_ID ? /^(?:0:|\d+:name=systemd):.*\/([^/\n]+\.service)$/m.exec(groups)?.[1] : undefined;
  return name === undefined || name.startsWith('user@') ? null : { name, notify: Boolean(NOTIFY_SOCKET) };
}

/** The text of a file; empty if the system has no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
