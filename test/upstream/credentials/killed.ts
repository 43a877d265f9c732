// A process that refreshes the tokens of its account, and dies at the moment when the new tokens are on disk.
import { Log } from '../../../proxy/base/process/log.ts';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import type { LoadedConfig } from '../../../proxy/config/config.ts';
import { StoreKey } from '../../../proxy/encryption/store-key.ts';
import { Credentials } from '../../../proxy/upstream/credentials/credentials.ts';
import { tokenEndpoint } from '../../../proxy/upstream/credentials/token-endpoint.ts';
import { TokenVault } from '../../../proxy/upstream/credentials/token-vault.ts';
import { openStore } from '../../../store/store.ts';

const { STORE = '', KEY = '', FILE = '', URL: url = '' } = process.env;
const account = { id: 'north', headers: {}, credential: { oauth: { file: FILE, token_url: `${url}/oauth/token`, client_id: 'client-1' } } };
const loaded = { config: { accounts: [account] }, path: '', bearers: new Map() } as unknown as LoadedConfig;
const store = await openStore(STORE, { clock: () => Date.now() });
const credentials = new Credentials({
  vault: new TokenVault(store.credentials, new StoreKey(KEY)),
  exchange: tokenEndpoint(() => ({ routeTo: () => undefined })),
  clock: systemClock,
  log: new Log('info', (line) => {
    if (line.includes('credential_refreshed')) process.kill(process.pid, 'SIGKILL');
  }),
  onRefused: () => undefined,
  onNoLogin: () => undefined,
  onLogin: () => undefined,
  onImported: () => undefined,
  onRefreshFailed: () => undefined,
});
await credentials.configure(loaded);
const north = loaded.config.accounts[0] as (typeof loaded.config.accounts)[0];
await credentials.refused(north, `Bearer ${credentials.secretOf(north, loaded.bearers.get('north'))}`);
