// The worker thread of the rehearsal provider. It listens, posts its addresses, and stops at any message.
import { parentPort, workerData } from 'node:worker_threads';
import { type ConfiguredAccounts, startConfigured } from './configured-provider.ts';

/** Posted when the provider listens: the base URL of each account id. */
export interface Listening {
  readonly urls: readonly (readonly [id: string, url: string])[];
}

const configured = workerData as ConfiguredAccounts;
const provider = await startConfigured(configured);
const listening: Listening = { urls: configured.accounts.map(({ id }) => [id, provider.urlOf(id)]) };
parentPort?.postMessage(listening);
parentPort?.once('message', () => void provider.close().then(() => parentPort?.close()));
