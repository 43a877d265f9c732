// Starts the rehearsal provider in a thread of its own, for a configuration that has rehearsal accounts.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { WireWords } from '../turn/settings.ts';
import { temperamentNames, temperamentOf } from './temperaments.ts';
import type { Listening, WorkerData } from './worker.ts';

export interface Rehearsal {
  /** The base URL of a rehearsal account, without trailing slash. */
  urlOf(id: string): string;
  /** Ends every connection and the thread. */
  close(): Promise<void>;
}

const scheme = 'rehearsal:';

/** The temperament's name in a `base_url` of the form `rehearsal:NAME`; undefined for any other URL. */
export function rehearsalName(baseUrl: string): string | undefined {
  return baseUrl.startsWith(scheme) ? baseUrl.slice(scheme.length) : undefined;
}

/**
 * Starts the provider for these accounts; resolves once it listens.
 * @throws Error when a temperament does not exist
 */
export async function startRehearsal(
  accounts: readonly { readonly id: string; readonly temperament: string }[],
  wire: WireWords,
): Promise<Rehearsal> {
  const unknown = accounts.find(({ temperament }) => temperamentOf(temperament) === undefined);
  if (unknown !== undefined) {
    const names = [...temperamentNames.keys()].join(', ');
    throw new Error(`account ${unknown.id}: there is no rehearsal temperament ${unknown.temperament}; there are ${names}`);
  }
  // The seed keeps ids apart from those of earlier runs, which the store may remember.
  const workerData: WorkerData = { accounts, wire, seed: Date.now().toString(36) };
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData });
  const [listening] = (await once(worker, 'message')) as [Listening];
  const urls = new Map(listening.urls);
  // The gateway outlives its rehearsal: what dies there is an upstream that no longer answers.
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
