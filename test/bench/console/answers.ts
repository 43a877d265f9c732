// The requests of the pages of the console, each with the filters that read the most rows.
import { median } from '../figures/statistics.ts';

const DAY_MS = 86_400_000;

/** @param now Unix milliseconds @param id of a request */
export const asked = (now: number, id: string): readonly string[] => [
  '/api/session',
  '/api/overview',
  '/api/usage?since=1h',
  '/api/usage?since=24h',
  '/api/usage?since=7d',
  '/api/usage?by=hour&since=7d&limit=170',
  '/api/usage?by=day&since=28d',
  '/api/usage?by=hour&since=7d&limit=170&pool=pool-7',
  '/api/usage?by=hour&since=7d&limit=170&account=account-7',
  '/api/usage?by=hour&since=7d&limit=170&model=model-7',
  `/api/usage?by=account&since=24h&limit=50${Array.from({ length: 50 }, (_, i) => `&account=account-${i}`).join('')}`,
  '/api/usage?by=account&since=24h&limit=200',
  '/api/usage?by=account&since=7d&limit=200',
  '/api/usage?by=model&since=7d',
  '/api/usage?by=pool&since=28d',
  '/api/usage?by=key&since=7d&limit=200',
  `/api/usage?by=key&since=7d&limit=200${Array.from({ length: 200 }, (_, i) => `&key=key-${i}`).join('')}`,
  '/api/usage?by=day&since=28d&key=key-7',
  '/api/usage?by=key&by=day&since=28d&limit=200&key=key-7&key=key-8',
  '/api/pools?limit=200',
  '/api/accounts?limit=200',
  '/api/accounts?order=quota&limit=50',
  '/api/accounts?state=cooldown',
  '/api/keys?limit=200',
  '/api/keys?id=key-9999',
  '/api/models?limit=200',
  '/api/audit?limit=200',
  '/api/audit?target=key-499',
  '/api/audit?action=key.create',
  '/api/requests?limit=50',
  `/api/requests?limit=50&until=${now - 20 * DAY_MS}`,
  '/api/requests?limit=50&pool=pool-49',
  '/api/requests?limit=50&key=key-7',
  '/api/requests?limit=50&key=key-9999',
  '/api/requests?limit=50&key=none',
  '/api/requests?limit=50&account=account-999',
  '/api/requests?limit=50&account=none',
  '/api/requests?limit=50&model=model-7',
  '/api/requests?limit=50&model=none',
  '/api/requests?limit=50&status=429',
  '/api/requests?limit=50&status=418',
  '/api/requests?limit=50&status=500',
  '/api/requests?limit=50&status=5xx',
  '/api/requests?limit=50&status=3xx',
  '/api/requests?limit=50&code=upstream_error',
  '/api/requests?limit=50&code=rare_code',
  '/api/requests?limit=50&code=none',
  '/api/requests?limit=50&key=key-7&status=418',
  '/api/requests?limit=50&key=key-7&account=account-7&status=5xx',
  '/api/requests?limit=50&key=key-7&model=none',
  `/api/requests?limit=999&ended_since=${now - 5_000}`,
  `/api/requests?id=${id}`,
  `/api/requests/${id}`,
];

export interface Answered {
  readonly path: string;
  readonly p50: number;
  readonly max: number;
  readonly bytes: number;
  readonly status: number;
}

export async function timed(url: string, path: string, times: number): Promise<Answered> {
  const took: number[] = [];
  let bytes = 0;
  let status = 0;
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    const response = await fetch(url + path);
    bytes = (await response.arrayBuffer()).byteLength;
    took.push(performance.now() - began);
    status = response.status;
  }
  return { path, p50: median(took), max: Math.max(...took), bytes, status };
}
