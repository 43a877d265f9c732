// The first steps of a test without a running gateway: the credential in the file, and the list of models that it can read (AA87).
import type { AccountTestStep } from '../../admin/replies/account-test-report.ts';
import { Heartbeat } from '../../base/process/heartbeat.ts';
import { systemClock } from '../../base/time/clock.ts';
import type { LoadedConfig } from '../../config/config.ts';
import { explainedProviders } from '../../providers/providers.ts';
import { isRehearsal } from '../../turn/provider/rehearsal-address.ts';
import type { AccountConfig } from '../../turn/settings.ts';
import { withBearer } from '../../upstream/credentials/credentials.ts';
import { Upstreams } from '../../upstream/upstreams.ts';
import { modelsStep } from './first-steps.ts';
import { testFailure, testStep } from './test-step.ts';

/** The interval of a timer that keeps the command alive, which timers of the clock do not. */
const ALIVE_MS = 60_000;

/**
 * Returns no steps for a simulated account, and for an account with a login, because only the gateway has them.
 * @param loaded the file, with secrets from the environment of this process
 */
export async function checkedSteps(
  account: AccountConfig,
  loaded: Pick<LoadedConfig, 'config' | 'bearers' | 'connections' | 'environment'>,
): Promise<readonly AccountTestStep[]> {
  const { credential } = account;
  if (isRehearsal(account.base_url) || (credential && 'oauth' in credential)) return [];
  const secret = loaded.bearers.get(account.id);
  if (credential && secret === undefined) {
    return [testStep({ step: 'credential', ms: 0, failure: testFailure('unset', { message: 'its secret is not set here' }) })];
  }
  const first = testStep({ step: 'credential', ms: 0, found: credential ? 'it can be read' : 'none is configured' });
  const upstreams = new Upstreams(new Heartbeat(systemClock));
  // This account alone: the others of the file may be simulated ones, which have no address.
  const config = { ...loaded.config, accounts: [account] };
  await upstreams.configure({ ...loaded, config, path: '', storeUrl: '', nodeSecret: undefined }, ({ base_url }) => base_url);
  const upstream = upstreams.of(account.id);
  const headers = secret === undefined ? account.headers : withBearer(account, secret);
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    const { wire } = loaded.config;
    const provider = (await explainedProviders([account]))(account);
    const list = upstream && (await modelsStep(account, { clock: systemClock, provider, upstream, headers, wire }));
    return list ? [first, list] : [first];
  } finally {
    clearInterval(alive);
    await upstreams.destroy();
  }
}
