// Loads a large file in a worker thread: YAML with ten thousand keys takes seconds to parse, and would block running streams.
import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import type { LoadedConfig } from '../config.ts';
import { ConfigError, type Finding } from '../schema/finding.ts';
import { restore } from './compile.ts';
import { type LoadOptions, loadConfig } from './load.ts';

/** A smaller file loads in a few milliseconds, less than the start of a thread takes. */
const LARGE_FILE_BYTES = 64 * 1024;

/** The input of the worker. */
export interface LoadTask {
  readonly path: string;
  readonly options: LoadOptions;
}

/** The message of the worker. */
export type LoadResult = { readonly loaded: LoadedConfig; readonly warnings: Finding[] } | { readonly findings: readonly Finding[] };

/** `loadConfig` without blocking the event loop. */
export async function loadConfigInBackground(
  path: string,
  options: LoadOptions = {},
): Promise<{ loaded: LoadedConfig; warnings: Finding[] }> {
  const size = await stat(path)
    .then((found) => found.size)
    .catch(() => 0);
  if (size < LARGE_FILE_BYTES) return loadConfig(path, options);

  const task: LoadTask = { path, options: { ...options, env: { ...(options.env ?? process.env) } } };
  const result = await new Promise<LoadResult>((resolve, reject) => {
    const worker = new Worker(new URL('./background-load-worker.ts', import.meta.url), { workerData: task });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that loads the configuration ended with ${code}`)));
  });
  if ('findings' in result) throw new ConfigError(result.findings);
  const { loaded, warnings } = result;
  return { loaded: { ...loaded, config: restore(loaded.config) }, warnings };
}
