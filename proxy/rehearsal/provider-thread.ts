// Starts the rehearsal provider in a worker thread, for a configuration that has rehearsal accounts.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { REHEARSAL_PROFILES, type WireWords } from '../turn/settings.ts';
import { profileNamed } from './account/account-profiles.ts';
import type { Listening, WorkerData } from './provider-worker.ts';

export interface ProviderThread {
  /** The base URL of a rehearsal account, without trailing slash. */
  urlOf(id: string): string;
  /** Ends all connections and the thread. */
  close(): Promise<void>;
}

const SCHEME = 'rehearsal:';

/** The profile's name in a `base_url` of the form `rehearsal:NAME`; undefined for any other URL. */
export function rehearsalName(baseUrl: string): string | undefined {
  return baseUrl.startsWith(SCHEME) ? baseUrl.slice(SCHEME.length) : undefined;
}

/**
 * Starts the provider for these accounts; resolves once it listens.
 * @throws Error for an unknown profile
 */
export async function startProviderThread(accounts: WorkerData['accounts'], wire: WireWords): Promise<ProviderThread> {
  const unknown = accounts.find(({ profile }) => profileNamed(profile) === undefined);
  if (unknown !== undefined) {
    const names = REHEARSAL_PROFILES.join(', ');
    throw new Error(`account ${unknown.id}: the rehearsal profile ${unknown.profile} does not exist; known: ${names}`);
  }
  // The seed keeps ids apart from those of earlier runs, which the store may still have.
  const workerData: WorkerData = { accounts, wire, seed: Date.now().toString(36) };
  const worker = new Worker(new URL('./provider-worker.ts', import.meta.url), { workerData });
  const [listening] = (await once(worker, 'message')) as [Listening];
  const urls = new Map(listening.urls);
  // An error in the thread must not end the gateway: its accounts become upstreams that do not answer.
  worker.on('error', (error: Error) => process.emitWarning(`the rehearsal provider stopped: ${error.message}`));
  worker.unref();
  const exit = new Promise((resolve) => worker.once('exit', resolve));
  return {
    urlOf: (id) => {
      const url = urls.get(id);
      if (url === undefined) throw new Error(`no rehearsal account ${id}`);
      return url;
    },
    close: async () => {
      worker.ref();
      worker.postMessage('close');
      await exit;
    },
  };
}
