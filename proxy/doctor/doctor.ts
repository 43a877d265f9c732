// `doctor` runs the checks that an operator would make by hand. This file has the checks of Node, the file and the database. It changes
// nothing and sends no turn. Only API accounts get their credential, with a read of their models (AA86).
import { inspectStore } from '../../store/tools/inspection.ts';
import { machine } from '../base/process/machine.ts';
import type { Inspection } from '../config/loading/load.ts';
import { isError } from '../config/schema/finding.ts';
import type { Diagnosis } from './diagnosis.ts';
import { fileDiagnoses } from './file-checks.ts';
import { type GatewayAnswer, gatewayDiagnoses } from './gateway-checks.ts';
import { machineDiagnoses } from './machine-checks.ts';
import { modelListDiagnoses } from './model-list-checks.ts';
import { networkDiagnoses, ownCertificateDiagnosis } from './network-checks.ts';
import { surroundingsFindings } from './surroundings/findings.ts';
import type { Host } from './surroundings/host.ts';
import { surroundingsDiagnosis, surroundingsOf } from './surroundings/surroundings.ts';

export interface DoctorOptions {
  /** The path of the configuration file. */
  readonly path: string;
  readonly inspection: Pick<Inspection, 'config' | 'bearers' | 'connections' | 'environment' | 'listenTls' | 'storeUrl' | 'findings'>;
  readonly gateway: GatewayAnswer;
  readonly host: Host;
  /** Whether accounts are contacted. */
  readonly network: boolean;
}

/** All checks, in the order in which they are printed. If the file is invalid, only the checks that do not need it. */
export async function diagnose({ path, inspection, gateway, host, network }: DoctorOptions): Promise<readonly Diagnosis[]> {
  const { config, bearers, connections, environment, listenTls, storeUrl } = inspection;
  const general = [...configurationDiagnoses(path, inspection), nodeDiagnosis(process.version)];
  if (!config) return general;
  const limits = 'status' in gateway ? gateway.status.machine : machine();
  const around = surroundingsOf(config, host, limits.unit);
  const checked = await Promise.all([
    [surroundingsDiagnosis(around, host), ...surroundingsFindings(config, host, around)],
    gatewayDiagnoses(config, gateway),
    machineDiagnoses(config, limits, around.kind),
    fileDiagnoses(path, { config, storeUrl }),
    storeDiagnoses(storeUrl),
    listenTls?.cert === undefined ? [] : [ownCertificateDiagnosis(listenTls.cert)],
    network ? networkDiagnoses(config, { connections, environment }) : [],
    network ? modelListDiagnoses(config, { bearers, connections, environment }) : [],
  ]);
  return [...general, ...checked.flat()];
}

/** @param path the path of the file */
function configurationDiagnoses(path: string, { config, findings }: Pick<Inspection, 'config' | 'findings'>): readonly Diagnosis[] {
  const check = 'configuration';
  if (findings.length === 0) return [{ check, level: 'ok', message: `${path} has no errors and no warnings.` }];
  const advice = config ? 'Correct the file.' : 'Correct the file, then run doctor again: the other checks need a file without errors.';
  return findings.map((finding) => {
    const { file, line, column, message } = finding;
    return { check, level: isError(finding) ? 'problem' : 'warning', message: `${file}:${line}:${column}: ${message}`, advice };
  });
}

/** The longest integrity check, which reads the whole database. During it the gateway cannot shorten its log of writes. */
const DEADLINE_MS = 30_000;

/** @param url the URL of the database; empty if its variable is not set here */
async function storeDiagnoses(url: string): Promise<readonly Diagnosis[]> {
  if (url === '') {
    const advice = 'Run doctor with the environment of the gateway.';
    return [
      { check: 'store', level: 'warning', message: 'The URL of the database is not set here: the database was not checked.', advice },
    ];
  }
  const conditions = await inspectStore(url, DEADLINE_MS);
  return conditions.map((condition) => ({ check: 'store', ...condition }));
}

/** The oldest version of Node, as in scripts/setup.mjs, which a container does not have. */
export const OLDEST_NODE = '24.9.0';

/** @param version as in `v24.9.0` */
export function nodeDiagnosis(version: string): Diagnosis {
  if (version.replace(/^v/, '').localeCompare(OLDEST_NODE, 'en', { numeric: true }) >= 0) {
    return { check: 'node.js', level: 'ok', message: `Node is ${version}.` };
  }
  return {
    check: 'node.js',
    level: 'problem',
    message: `Node is ${version}; the gateway needs ${OLDEST_NODE} or newer.`,
    advice: 'Start it with `npm start` or `npx poolgate`, which install a Node of their own, or install Node 24.',
  };
}
