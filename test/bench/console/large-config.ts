// The configuration of a large installation; its accounts are simulated ones, which the gateway runs in a separate thread.
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type LargeSize, MODELS_OF_POOL } from './large-store.ts';

const names = <One>(count: number, of: (number: number) => One): readonly One[] => Array.from({ length: count }, (_, i) => of(i));

/** @returns the path of the file */
export function writeLargeConfig(folder: string, database: string, size: LargeSize): string {
  const { accounts, pools, keys, models } = size;
  const config = {
    listen: { port: 0 },
    admin: { port: 0 },
    store: `sqlite:${database}`,
    store_key: { file: join(folder, 'store.key') },
    log: { level: 'warn' },
    guard: { event_loop_ms: 0, memory_percent: 0 },
    accounts: names(accounts, (i) => ({
      id: `account-${i}`,
      label: `Account ${i}`,
      base_url: `rehearsal:`,
      credential: { bearer: { env: 'BENCH_BEARER' } },
    })),
    pools: names(pools, (i) => ({
      id: `pool-${i}`,
      label: `Pool ${i}`,
      models: Object.fromEntries(
        names(MODELS_OF_POOL, (j) => [`model-${(i + j) % models}`, { prices: { input: 1, cached_input: 0.1, output: 4 } }]),
      ),
      assignments: names(Math.floor(accounts / pools), (place) => ({ account: `account-${place * pools + i}` })),
    })),
    keys: names(keys, (i) => ({
      id: `key-${i}`,
      pool: `pool-${i % pools}`,
      secret_sha256: [hash('sha256', `secret of key ${i}`, 'hex')],
      limits: { requests_per_minute: 60, tokens_per_day: 5_000_000, usd_per_day: 50 },
    })),
  };
  const file = join(folder, 'config.yaml');
  writeFileSync(file, stringify(config, { aliasDuplicateObjects: false }));
  return file;
}
