// The database, by the checks of its own engine.
import { inspectStore } from '../../store/inspection.ts';
import type { Diagnosis } from './diagnosis.ts';

/** An integrity check reads the whole database; meanwhile the gateway cannot shorten its log of writes. */
const DEADLINE_MS = 30_000;

export async function storeDiagnoses(store: string): Promise<readonly Diagnosis[]> {
  const conditions = await inspectStore(store, DEADLINE_MS);
  return conditions.map((condition) => ({ check: 'store', ...condition }));
}
