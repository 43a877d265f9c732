// The worker thread of the rehearsal provider: listens, posts its addresses, and stops on any message.
import { parentPort, workerData } from 'node:worker_threads';
import { type ConfiguredAccounts, startConfigured } from './configured-provider.ts';

/** Posted once the provider listens: account ids and their base URLs. */
export interface Listening {
  readonly urls: readonly (readonly [id: string, url: string])[];
}

const configured = workerData as ConfiguredAccounts;
const provider = await startConfigured(configured);
const listening: Listening = { urls: configured.accounts.map(({ id }) => [id, provider.urlOf(id)]) };
parentPort?.postMessage(listening);
parentPort?.once('message', () => void provider.close().then(() => parentPort?.close()));
