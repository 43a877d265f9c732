// Runs work on a large file in a worker thread. YAML with ten thousand keys takes seconds to parse, and would block running streams.
import { stat } from 'node:fs/promises';
import { Worker } from 'node:worker_threads';
import { InvalidEdit } from '../file/edits/invalid-edit.ts';
import type { EditTask } from '../file/edits/run-edit.ts';
import { EditRefused } from '../file/file-replacement.ts';
import { EditError, FileChanged } from '../file/yaml-places.ts';
import { ConfigError } from '../schema/finding.ts';
import type { LoadOptions } from './load.ts';

/**
 * The size from which a file counts as large. A smaller one is read in a few milliseconds, which is less than the start of a thread takes.
 */
const LARGE_FILE_BYTES = 64 * 1024;

/** The tasks that a worker can do with a file. */
export type Task =
  | { readonly name: 'load'; readonly input: { readonly path: string; readonly options: LoadOptions } }
  | { readonly name: 'edit'; readonly input: EditTask }
  | { readonly name: 'redact'; readonly input: { readonly path: string } };

/** The message of the worker. Errors lose their class when they are sent between threads. */
export type TaskOutcome = { readonly value: unknown } | { readonly thrown: Thrown };

interface Thrown {
  readonly name: 'ConfigError' | 'EditError' | 'EditRefused' | 'FileChanged' | 'InvalidEdit';
  readonly message: string;
  readonly findings?: ConfigError['findings'];
  readonly objection?: InvalidEdit['objection'];
  readonly param?: string | undefined;
}

/** @param here does the same work in this thread, for a small file */
export async function inBackground<Value>(path: string, task: Task, here: () => Promise<Value>): Promise<Value> {
  const size = await stat(path)
    .then((found) => found.size)
    .catch(() => 0);
  if (size < LARGE_FILE_BYTES) return here();
  const outcome = await new Promise<TaskOutcome>((resolve, reject) => {
    const worker = new Worker(new URL('./background-worker.ts', import.meta.url), { workerData: task });
    worker.once('message', resolve).once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread for the configuration file ended with ${code}`)));
  });
  if ('thrown' in outcome) throw restored(outcome.thrown);
  return outcome.value as Value;
}

/** Undefined for a defect of the program, which ends the worker. */
export function thrownOf(error: unknown): Thrown | undefined {
  if (error instanceof InvalidEdit) {
    const { message, objection, param } = error;
    return { name: 'InvalidEdit', message, objection, param };
  }
  if (error instanceof EditError) return { name: error instanceof FileChanged ? 'FileChanged' : 'EditError', message: error.message };
  if (!(error instanceof ConfigError)) return undefined;
  return { name: error instanceof EditRefused ? 'EditRefused' : 'ConfigError', message: error.message, findings: error.findings };
}

function restored({ name, message, findings = [], objection = 'state', param }: Thrown): Error {
  if (name === 'InvalidEdit') return new InvalidEdit(objection, message, param);
  if (name === 'EditError') return new EditError(message);
  if (name === 'FileChanged') return new FileChanged(message);
  return name === 'EditRefused' ? new EditRefused(findings) : new ConfigError(findings);
}
