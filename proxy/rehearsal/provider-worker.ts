// The worker thread of the rehearsal provider: listens, posts its addresses, and stops on any message.
import { parentPort, workerData } from 'node:worker_threads';
import type { RehearsalProfile, WireWords } from '../turn/settings.ts';
import { PROFILES } from './account/account-profiles.ts';
import type { NamedApi } from './apis/api-settings.ts';
import { startProvider } from './provider.ts';

/** An account of the configuration. */
export interface ThreadAccount {
  readonly id: string;
  readonly profile: RehearsalProfile;
  readonly api?: NamedApi;
  /** Of the logins at its own authorization server; absent: it needs no credential. */
  readonly clientId?: string;
}

/** The data that the thread is started with. */
export interface WorkerData {
  readonly accounts: readonly ThreadAccount[];
  readonly wire: WireWords;
  readonly seed: string;
}

/** Posted once the provider listens: account ids and their base URLs. */
export interface Listening {
  readonly urls: readonly (readonly [id: string, url: string])[];
}

const { accounts, wire, seed } = workerData as WorkerData;
const provider = await startProvider({
  wire,
  seed,
  accounts: accounts.map(({ profile, clientId, ...account }) => {
    const login = clientId === undefined ? {} : { oauth: { client_id: clientId, acceptsEarlier: true } };
    return { ...account, ...login, profile: PROFILES[profile] };
  }),
});
const listening: Listening = { urls: accounts.map(({ id }) => [id, provider.urlOf(id)]) };
parentPort?.postMessage(listening);
parentPort?.once('message', () => void provider.close().then(() => parentPort?.close()));
