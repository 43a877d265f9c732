// `doctor`: runs the checks that an operator would make by hand, and prints what to do about each problem.
import type { Command } from 'commander';
import { inspect, readConfig } from '../../config/loading/load.ts';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import type { GatewayAnswer } from '../../doctor/gateway-checks.ts';
import { addCommand, CommandFailure, type CommonOptions, counted, type Io, json } from '../command.ts';
import { type AdminAddress, adminOf } from '../gateway/address.ts';
import { GatewayRefused } from '../gateway/ask.ts';
import { fetchConfiguration, fetchStatus } from '../gateway/calls.ts';

interface Options extends CommonOptions {
  readonly offline?: boolean;
}

export function addDoctor(program: Command, io: Io): void {
  addCommand(program, {
    usage: 'doctor',
    description:
      'check the file, Node, the surroundings (systemd, container, Kubernetes), the gateway or its ports, memory, open files, modes of files, the database, and names, connections, certificates and clocks of the accounts; exit code 1 if there is a problem',
    examples: ['poolgate doctor', 'poolgate doctor --json | jq \'.checks[] | select(.level != "ok")\''],
  })
    .option('--offline', 'ask no account')
    .action(async ({ config: path, json: asJson, offline = false }: Options) => {
      // An unset variable is only a warning, because the gateway may start with another environment.
      const inspection = await inspect(await readConfig(path), { path, env: io.env, strictEnv: false, certificateDates: false });
      const gateway = inspection.config ? await answerOf(adminOf(inspection.config, io, path)) : { unavailable: 'the file has errors' };
      // Loaded here, so that other commands start without the checks.
      const [{ diagnose }, { thisHost }] = await Promise.all([
        import('../../doctor/doctor.ts'),
        import('../../doctor/surroundings/host.ts'),
      ]);
      const checks = await diagnose({ path, inspection, gateway, host: thisHost(io.env), network: !offline });
      const ok = checks.every(({ level }) => level !== 'problem');
      io.out(asJson ? json({ ok, checks }) : linesOf(checks).join('\n').concat('\n'));
      if (!ok) throw new CommandFailure('');
    });
}

async function answerOf(gateway: AdminAddress): Promise<GatewayAnswer> {
  try {
    const [status, otherFile] = await Promise.all([fetchStatus(gateway), otherFileOf(gateway)]);
    return { status, otherFile };
  } catch (thrown) {
    if (thrown instanceof GatewayRefused && (thrown.status === 401 || thrown.status === 403)) return { refused: thrown.message };
    if (thrown instanceof CommandFailure) return { unavailable: thrown.message };
    throw thrown;
  }
}

/** The sentence of the gateway if it runs on another file. */
async function otherFileOf(gateway: AdminAddress): Promise<string | undefined> {
  try {
    await fetchConfiguration(gateway);
    return undefined;
  } catch (thrown) {
    return thrown instanceof GatewayRefused && thrown.code === 'other_file' ? thrown.message : undefined;
  }
}

function linesOf(checks: readonly Diagnosis[]): readonly string[] {
  const width = Math.max(...checks.map(({ check }) => check.length));
  const lines = checks.flatMap(({ level, check, message, advice }) => {
    const head = `${level.padEnd('warning'.length)}  ${check.padEnd(width)}  `;
    return [`${head}${message}`, ...(advice === undefined ? [] : [`${' '.repeat(head.length)}-> ${advice}`])];
  });
  const count = (wanted: Diagnosis['level']): number => checks.filter(({ level }) => level === wanted).length;
  return [...lines, `${counted(count('problem'), 'problem')}, ${counted(count('warning'), 'warning')}`];
}
