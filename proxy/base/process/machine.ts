// The limits of the machine, or its container, for this process: memory and open files; and the service of systemd that it is.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

export interface Machine {
  readonly memory_bytes: number;
  /** Open files and sockets at the same time; null if the system does not state a limit. */
  readonly open_files: number | null;
  /** The service of systemd that started this process. */
  readonly unit: SystemdUnit | null;
}

export interface SystemdUnit {
  /** As in `poolgate.service`. */
  readonly name: string;
  /** Whether systemd waits for a notification of the start, as with `Type=notify`. */
  readonly notify: boolean;
}

export const machine = (): Machine => ({
  memory_bytes: usableMemory(),
  open_files: openFiles(),
  unit: unitOf(process.env, textOf('/proc/self/cgroup')),
});

/** In bytes. Without a limit of its container the process may use all memory of the machine. */
export function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Node has raised its limit to the hard one at its start. */
function openFiles(): number | null {
  const limit = /^Max open files\s+(\d+)/m.exec(textOf('/proc/self/limits'))?.[1];
  return limit === undefined ? null : Number(limit);
}

/**
 * A session of a user is no service of the gateway, though a variable of systemd can reach it.
 * @param groups the text of /proc/self/cgroup
 */
export function unitOf({ INVOCATION_ID, NOTIFY_SOCKET }: NodeJS.ProcessEnv, groups: string): SystemdUnit | null {
  const name = INVOCATION_ID ? /^(?:0:|\d+:name=systemd):.*\/([^/\n]+\.service)$/m.exec(groups)?.[1] : undefined;
  return name === undefined || name.startsWith('user@') ? null : { name, notify: Boolean(NOTIFY_SOCKET) };
}

/** Empty if the system has no such file. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
