// The core on which each part runs; the measured process has its own core if the machine has enough.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

export type Part = 'relay' | 'upstream' | 'load';

export interface Cores {
  /** The description that people read. */
  readonly description: string;
  /** The command, bound to the core of its part. */
  pinned(part: Part, command: readonly string[]): readonly string[];
  /** Commands that keep the cores of upstream and load busy for as long as no other process needs them. */
  readonly wakers: readonly (readonly string[])[];
}

const SPIN = ['sh', '-c', 'while :; do :; done'];

export function planCores(): Cores {
  const allowed = allowedCores();
  const [relay, upstream, load = upstream] = allowed;
  const mayPin = relay !== undefined && upstream !== undefined && spawnSync('taskset', ['-c', String(relay), 'true']).status === 0;
  if (!mayPin) return { description: 'nothing pinned: no second core, or no taskset', pinned: (_part, command) => command, wakers: [] };
  const core = { relay, upstream, load } as const;
  const mayWake = spawnSync('chrt', ['-i', '0', 'true']).status === 0;
  const others = [...new Set([upstream, load])];
  return {
    description: `relay on core ${relay}, upstream on ${upstream}, load on ${load}`,
    pinned: (part, command) => ['taskset', '-c', String(core[part]), ...command],
    wakers: mayWake ? others.map((one) => ['chrt', '-i', '0', 'taskset', '-c', String(one), ...SPIN]) : [],
  };
}

/** The cores that this process may use; it can be confined, such as to `0-3,8`. */
function allowedCores(): readonly number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, i) => first + i);
  });
}
