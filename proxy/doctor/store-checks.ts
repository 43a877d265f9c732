// The database, by the checks of its own engine.
import { inspectStore } from '../../store/tools/inspection.ts';
import type { Diagnosis } from './diagnosis.ts';

/** An integrity check reads the whole database; meanwhile the gateway cannot shorten its log of writes. */
const DEADLINE_MS = 30_000;

/** @param url empty where the variable that has it is not set here */
export async function storeDiagnoses(url: string): Promise<readonly Diagnosis[]> {
  if (url === '') {
    const advice = 'Run doctor with the environment of the gateway.';
    return [
      { check: 'store', level: 'warning', message: 'The URL of the database is not set here: the database was not checked.', advice },
    ];
  }
  const conditions = await inspectStore(url, DEADLINE_MS);
  return conditions.map((condition) => ({ check: 'store', ...condition }));
}
