// Starts the rehearsal provider in a worker thread, for a configuration that has rehearsal accounts.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { ConfiguredAccounts } from './configured-provider.ts';
import type { Listening } from './provider-worker.ts';

export interface RehearsalProvider {
  /** The base URL of a rehearsal account, without trailing slash. */
  urlOf(id: string): string;
  /** Ends all connections, and the thread. */
  close(): Promise<void>;
}

/** Starts the provider for these accounts. Resolves when it listens. */
export async function startProviderThread(workerData: ConfiguredAccounts): Promise<RehearsalProvider> {
  const worker = new Worker(new URL('./provider-worker.ts', import.meta.url), { workerData });
  const [listening] = (await once(worker, 'message')) as [Listening];
  const urls = new Map(listening.urls);
  // An error in the thread must not end the gateway. Its accounts then do not answer.
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
