// The first steps of a test without a running gateway: the credential of the file, and the list of models with it (AA87).
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

/** Timers of the clock do not keep a command alive. */
const ALIVE_MS = 60_000;

/**
 * None for a simulated account, and for one with a login: the gateway alone has them.
 * @param loaded the file, with the secrets of the environment of this process
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
  await upstreams.configure({ ...loaded, path: '', storeUrl: '', nodeSecret: undefined }, ({ base_url }) => base_url);
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
