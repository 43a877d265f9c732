// Checks an account as the gateway would use it, without one that runs: its address is reached, and its models are read with its credential.
import { Heartbeat } from '../base/process/heartbeat.ts';
import { systemClock, withDeadline } from '../base/time/clock.ts';
import type { LoadedConfig } from '../config/config.ts';
import { parseCatalog } from '../models/catalog/catalog-parser.ts';
import { explainedProviders } from '../providers/providers.ts';
import { isRehearsal } from '../turn/provider/rehearsal-address.ts';
import type { AccountConfig } from '../turn/settings.ts';
import { withBearer } from '../upstream/credentials/credentials.ts';
import { OwnCalls } from '../upstream/credentials/own-calls.ts';
import { Upstreams } from '../upstream/upstreams.ts';

/** The result of the read; `failure` is a word of READ_FAILURES in the doctor's checks. */
export type AccountCheck = { readonly models: readonly string[] } | { readonly failure: string; readonly status: number | undefined };

const BOUNDS = { bytes: 16_777_216, ms: 30_000 };
const ALIVE_MS = 60_000;

/** Undefined for an account that cannot be asked yet: a simulated one, or one without its login or its secret. */
export async function checkAccount(
  account: AccountConfig,
  loaded: Pick<LoadedConfig, 'config' | 'bearers' | 'connections' | 'environment'>,
): Promise<AccountCheck | undefined> {
  const secret = loaded.bearers.get(account.id);
  if (isRehearsal(account.base_url) || (account.credential && secret === undefined)) return undefined;
  const whole = { ...loaded, path: '', storeUrl: '', nodeSecret: undefined };
  const upstreams = new Upstreams(new Heartbeat(systemClock));
  await upstreams.configure(whole, ({ base_url }) => base_url);
  const calls = new OwnCalls({
    credentials: {
      headersFor: (one) => (secret === undefined ? one.headers : withBearer(one, secret)),
      refused: () => 'refused',
      reimported: () => false,
      secretOf: () => secret,
    },
    loaded: () => whole,
    upstream: (id) => upstreams.of(id),
  });
  const alive = setInterval(() => undefined, ALIVE_MS);
  try {
    const read = explainedProviders(account).catalog.read((path, from) => calls.get(account.id, path, BOUNDS, from), {
      account,
      wire: loaded.config.wire,
    });
    const answer = await withDeadline(read, systemClock, BOUNDS.ms);
    if (typeof answer === 'symbol') return { failure: 'timeout', status: undefined };
    const { status, body, refusal = 'status' } = answer;
    if (status < 200 || status > 299) return { failure: refusal, status };
    const parsed = parseCatalog(body);
    return parsed ? { models: parsed.entries.map(({ id }) => id) } : { failure: 'malformed', status };
  } catch {
    return { failure: 'network', status: undefined };
  } finally {
    clearInterval(alive);
    await upstreams.destroy();
  }
}
