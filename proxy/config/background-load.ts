// Loads a large file beside the event loop: ten thousand keys take the YAML parser seconds, and running streams do not wait for it.
import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { revived } from './compile.ts';
import type { LoadedConfig } from './config.ts';
import { ConfigError, type Finding } from './finding.ts';
import { type LoadOptions, loadConfig } from './load.ts';

/** Below this a file is read in a few milliseconds, less than a thread takes to start. */
const LARGE_BYTES = 64 * 1024;

/** What a worker is given, and what it sends back. */
export interface Task {
  readonly path: string;
  readonly options: LoadOptions;
}

export type Outcome = { readonly loaded: LoadedConfig; readonly warnings: Finding[] } | { readonly findings: readonly Finding[] };

/** As `loadConfig`, which see. */
export async function loadConfigAside(path: string, options: LoadOptions = {}): Promise<{ loaded: LoadedConfig; warnings: Finding[] }> {
  const size = await stat(path)
    .then((found) => found.size)
    .catch(() => 0);
  if (size < LARGE_BYTES) return loadConfig(path, options);

  const task: Task = { path, options: { ...options, env: { ...(options.env ?? process.env) } } };
  const outcome = await new Promise<Outcome>((resolve, reject) => {
    const worker = new Worker(new URL('./background-load-worker.ts', import.meta.url), { workerData: task });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that loads the configuration ended with ${code}`)));
  });
  if ('findings' in outcome) throw new ConfigError(outcome.findings);
  const { loaded, warnings } = outcome;
  return { loaded: { ...loaded, config: revived(loaded.config) }, warnings };
}
