// The resources that a process has used, according to the system.
import { readFileSync, writeFileSync } from 'node:fs';

/** The unit of times in /proc/PID/stat, on every Linux that Node supports. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;

/** The processor time so far in microseconds, of all threads, in user code and in the kernel. */
export function cpuMicroseconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The name, in brackets, may hold spaces; user and system time are fields 14 and 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000_000) / TICKS_PER_SECOND;
}

/** The processor time so far of the processes that it has started and that still run. */
export function cpuOfChildren(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number);
  return children.filter((child) => child > 0).reduce((sum, child) => sum + cpuMicroseconds(child), 0);
}

export function residentBytes(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]) * PAGE_BYTES;
}

/** Begins a new measurement of the peak. */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
}

/** The most resident bytes since `forgetPeak`. */
export function peakBytes(pid: number): number {
  const [, kilobytes] = /^VmHWM:\s*(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes) * 1_024;
}
