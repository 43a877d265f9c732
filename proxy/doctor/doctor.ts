// `doctor`: runs the checks that an operator would make by hand. It changes nothing, and sends no credential to an account.

import { machine } from '../base/process/machine.ts';
import type { Inspection } from '../config/loading/load.ts';
import { configurationDiagnoses } from './configuration-check.ts';
import type { Diagnosis } from './diagnosis.ts';
import { fileDiagnoses } from './file-checks.ts';
import { type GatewayAnswer, gatewayDiagnoses } from './gateway-checks.ts';
import { machineDiagnoses } from './machine-checks.ts';
import { networkDiagnoses } from './network-checks.ts';
import { nodeDiagnosis } from './node-check.ts';
import { storeDiagnoses } from './store-checks.ts';

export interface DoctorOptions {
  /** Path of the configuration file. */
  readonly path: string;
  readonly inspection: Pick<Inspection, 'config' | 'storeUrl' | 'findings'>;
  readonly gateway: GatewayAnswer;
  /** Whether accounts are asked. */
  readonly network: boolean;
}

/** All checks in the order of their printing; with an invalid file only those that need none. */
export async function diagnose({ path, inspection, gateway, network }: DoctorOptions): Promise<readonly Diagnosis[]> {
  const { config, storeUrl } = inspection;
  const general = [...configurationDiagnoses(path, inspection), nodeDiagnosis(process.version)];
  if (!config) return general;
  const limits = 'status' in gateway ? gateway.status.machine : machine();
  const checked = await Promise.all([
    gatewayDiagnoses(config, gateway),
    machineDiagnoses(config, limits),
    fileDiagnoses(path, { config, storeUrl }),
    storeDiagnoses(storeUrl),
    network ? networkDiagnoses(config) : [],
  ]);
  return [...general, ...checked.flat()];
}
