// Loads a file without blocking the event loop.
import type { LoadedConfig } from '../config.ts';
import type { Finding } from '../schema/finding.ts';
import { inBackground } from './background.ts';
import { restoreCompiled } from './compile.ts';
import { type LoadOptions, loadConfig } from './load.ts';

/** Calls `loadConfig`, for a large file in a worker thread. */
export async function loadConfigInBackground(
  path: string,
  options: LoadOptions = {},
): Promise<{ loaded: LoadedConfig; warnings: Finding[] }> {
  const input = { path, options: { ...options, env: { ...(options.env ?? process.env) } } };
  const { loaded, warnings } = await inBackground(path, { name: 'load', input }, () => loadConfig(path, options));
  // What came from another thread is not frozen.
  return Object.isFrozen(loaded.config)
    ? { loaded, warnings }
    : { loaded: { ...loaded, config: restoreCompiled(loaded.config) }, warnings };
}
