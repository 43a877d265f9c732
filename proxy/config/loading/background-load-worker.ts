// The worker thread of background-load.ts: loads one file, sends the result, and ends.
import { parentPort, workerData } from 'node:worker_threads';
import { ConfigError } from '../schema/finding.ts';
import type { LoadResult, LoadTask } from './background-load.ts';
import { loadConfig } from './load.ts';

const { path, options } = workerData as LoadTask;

async function load(): Promise<LoadResult> {
  try {
    return await loadConfig(path, options);
  } catch (error) {
    if (error instanceof ConfigError) return { findings: error.findings };
    throw error;
  }
}

parentPort?.postMessage(await load());
