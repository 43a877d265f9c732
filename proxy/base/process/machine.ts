// The limits of the machine, or its container, for this process: memory and open files.
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

export interface Machine {
  readonly memory_bytes: number;
  /** Open files and sockets at the same time; null where the system does not state a limit. */
  readonly open_files: number | null;
}

export const machine = (): Machine => ({ memory_bytes: usableMemory(), open_files: openFiles() });

/** In bytes. Without a limit of its container the process may use all memory of the machine. */
export function usableMemory(): number {
  const constrained = process.constrainedMemory();
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
}

/** Node has raised its limit to the hard one at its start. */
function openFiles(): number | null {
  try {
    const limit = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === undefined ? null : Number(limit);
  } catch {
    return null;
  }
}
