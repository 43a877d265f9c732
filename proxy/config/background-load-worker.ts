// The thread of aside.ts: loads one file, sends what came of it, and ends.
import { parentPort, workerData } from 'node:worker_threads';
import type { Outcome, Task } from './background-load.ts';
import { ConfigError } from './finding.ts';
import { loadConfig } from './load.ts';

const { path, options } = workerData as Task;

async function outcome(): Promise<Outcome> {
  try {
    return await loadConfig(path, options);
  } catch (error) {
    if (error instanceof ConfigError) return { findings: error.findings };
    throw error;
  }
}

parentPort?.postMessage(await outcome());
