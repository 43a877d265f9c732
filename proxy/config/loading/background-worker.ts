// The worker thread of background.ts. It does one task with one file, sends the result, and ends.
import { parentPort, workerData } from 'node:worker_threads';
import { runEdit } from '../file/edits/run-edit.ts';
import { redactedText } from '../file/redacted-text.ts';
import { type Task, type TaskOutcome, thrownOf } from './background.ts';
import { loadConfig, readConfig } from './load.ts';

const task = workerData as Task;

async function done(): Promise<unknown> {
  switch (task.name) {
    case 'load':
      return loadConfig(task.input.path, task.input.options);
    case 'edit':
      return runEdit(task.input);
    case 'redact':
      return redactedText(await readConfig(task.input.path));
  }
}

async function outcome(): Promise<TaskOutcome> {
  try {
    return { value: await done() };
  } catch (error) {
    const thrown = thrownOf(error);
    if (!thrown) throw error;
    return { thrown };
  }
}

parentPort?.postMessage(await outcome());
