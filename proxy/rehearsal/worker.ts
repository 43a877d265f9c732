// The rehearsal provider's own thread: listens, says where, and stops when it is told to.
import { parentPort, workerData } from 'node:worker_threads';
import type { WireWords } from '../turn/settings.ts';
import { startProvider } from './provider.ts';
import { temperamentOf } from './temperaments.ts';

/** What the thread is started with. */
export interface WorkerData {
  readonly accounts: readonly { readonly id: string; readonly temperament: string }[];
  readonly wire: WireWords;
  readonly seed: string;
}

/** What it answers once it listens: account ids and their base URLs. */
export interface Listening {
  readonly urls: readonly (readonly [id: string, url: string])[];
}

const { accounts, wire, seed } = workerData as WorkerData;
const provider = await startProvider({
  wire,
  seed,
  accounts: accounts.map(({ id, temperament: name }) => {
    const temperament = temperamentOf(name);
    return { id, ...(temperament === undefined ? {} : { temperament }) };
  }),
});
const listening: Listening = { urls: accounts.map(({ id }) => [id, provider.urlOf(id)]) };
parentPort?.postMessage(listening);
parentPort?.once('message', () => void provider.close().then(() => parentPort?.close()));
