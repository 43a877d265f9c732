// Compares limits of the configuration with those of the machine or container: memory and open files.
import type { Machine } from '../base/process/machine.ts';
import type { Config } from '../config/config.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { SurroundingsKind } from './surroundings/surroundings.ts';

/** @param limits the limits of the running gateway, otherwise of this process */
export function machineDiagnoses(
  config: Config,
  { memory_bytes, open_files }: Pick<Machine, 'memory_bytes' | 'open_files'>,
  kind: SurroundingsKind = 'plain',
): readonly Diagnosis[] {
  return [memoryDiagnosis(config, memory_bytes), ...(open_files === null ? [] : [openFilesDiagnosis(config, open_files, kind)])];
}

/** The memory of a gateway without bodies and replies. */
const BASE_BYTES = 192 << 20;

function memoryDiagnosis({ limits, guard }: Config, memory: number): Diagnosis {
  const check = 'memory';
  const held = limits.bodies_in_memory_bytes + limits.replies_in_memory_bytes;
  const usable = (memory * (guard.memory_percent || 100)) / 100;
  const sizes = `bodies and replies may hold ${mebibytes(held)} of ${mebibytes(usable)} that the gateway may use`;
  if (held + BASE_BYTES <= usable) return { check, level: 'ok', message: `Memory suffices: ${sizes}.` };
  const room = Math.max(0, usable - BASE_BYTES);
  return {
    check,
    level: 'warning',
    message: `Memory may not suffice: ${sizes}.`,
    advice: `Lower limits.bodies_in_memory_bytes and limits.replies_in_memory_bytes to ${mebibytes(room)} together, or give the gateway more memory.`,
  };
}

const mebibytes = (bytes: number): string => `${Math.floor(bytes / (1 << 20))} MiB`;

/** The files of the database, logs, listeners, Node itself, and the gateway's own calls. */
const OTHER_FILES = 256;

const RAISED: Readonly<Record<SurroundingsKind, (files: number) => string>> = {
  kubernetes: (files) => `Raise the limit of the container engine of the node to ${files}`,
  container: (files) => `Set \`--ulimit nofile=${files}\`, or \`ulimits: { nofile: ${files} }\` of Compose`,
  systemd: (files) => `Set \`LimitNOFILE=${files}\` in the unit`,
  plain: (files) => `Raise the limit (\`ulimit -n ${files}\`)`,
};

function openFilesDiagnosis({ limits }: Config, allowed: number, kind: SurroundingsKind): Diagnosis {
  const check = 'open files';
  const needed = 2 * limits.connections + OTHER_FILES;
  const message = `${allowed} open files are allowed; limits.connections of ${limits.connections} can need ${needed}: each client's connection, and its account's`;
  if (needed <= allowed) return { check, level: 'ok', message: `${message}.` };
  const fitting = Math.max(1, Math.floor((allowed - OTHER_FILES) / 2));
  return {
    check,
    level: 'warning',
    message: `${message}.`,
    advice: `${RAISED[kind](needed)}, or set limits.connections to at most ${fitting}.`,
  };
}
