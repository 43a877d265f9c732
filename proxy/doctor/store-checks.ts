// The database, by the checks of its own engine.
import { inspectStore } from '../../store/inspection.ts';
import type { Config } from '../config/config.ts';
import type { Diagnosis } from './diagnosis.ts';

/** An integrity check reads the whole database; meanwhile the gateway cannot shorten its log of writes. */
const DEADLINE_MS = 30_000;

/** @param storeUrl empty where its variable is not set, which is a finding of the configuration */
export async function storeDiagnoses({ store }: Pick<Config, 'store'>, storeUrl: string): Promise<readonly Diagnosis[]> {
  if (storeUrl === '') return [];
  const connections = typeof store === 'object' ? store.connections : 0;
  const conditions = await inspectStore(storeUrl, { deadlineMs: DEADLINE_MS, connections });
  return conditions.map((condition) => ({ check: 'store', ...condition }));
}
