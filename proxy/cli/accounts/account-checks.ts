// Checks an account without a running gateway: its address, its credential and its list of models (AA87).
import type { AccountTestStep } from '../../admin/replies/account-test-report.ts';
import type { LoadedConfig } from '../../config/config.ts';
import type { Diagnosis } from '../../doctor/diagnosis.ts';
import type { AccountConfig } from '../../turn/settings.ts';

export type CheckedConfig = Pick<LoadedConfig, 'config' | 'bearers' | 'connections' | 'environment'>;

export interface AccountChecks {
  readonly network: readonly Diagnosis[];
  /** The steps. Empty if the network has a problem, because each step would repeat it. */
  readonly steps: readonly AccountTestStep[];
}

export async function accountChecks(account: AccountConfig, loaded: CheckedConfig): Promise<AccountChecks> {
  const network = await networkChecks(account, loaded);
  if (network.some(({ level }) => level === 'problem')) return { network, steps: [] };
  const { checkedSteps } = await import('../../gateway/account-test/account-check.ts');
  return { network, steps: await checkedSteps(account, loaded) };
}

/** Loaded here, so that other commands start without the carriers. */
export async function networkChecks(account: AccountConfig, { config, ...ways }: CheckedConfig): Promise<readonly Diagnosis[]> {
  const { networkDiagnoses } = await import('../../doctor/network-checks.ts');
  return networkDiagnoses({ accounts: [account], timeouts: config.timeouts }, ways);
}
