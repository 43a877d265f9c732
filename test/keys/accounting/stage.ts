// A gateway whose accounts answer each turn by its plan, in any order of arrival, and record each attempt.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { ReceivedRequest } from '../../../proxy/rehearsal/received-request.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { type Draft, startGateway, type TestGateway } from '../../support/gateway.ts';
import type { Script } from '../../support/rehearsal.ts';
import { modelEntry, replyJson } from '../../support/rehearsal-replies.ts';
import { IMAGE_MODEL } from '../../support/stages/images.ts';
import type { Delivery } from './deliveries.ts';
import type { NanoPrices } from './expected-usage.ts';

const ACCOUNTS = ['north', 'south', 'east'] as const;
export const TEXT_MODELS = ['model-a', 'model-b', 'model-c'] as const;

export const KEYS = {
  open: { pool: 'team', limits: {} },
  limited: {
    pool: 'team',
    limits: {
      requests_per_minute: 10_000,
      requests_per_day: 10_000,
      tokens_per_minute: 1e9,
      tokens_per_day: 1e9,
      tokens_per_week: 1e9,
      usd_per_day: 1e6,
      usd_per_week: 1e6,
      concurrent: 1_000,
    },
  },
  tight: { pool: 'team', limits: { requests_per_day: 6, concurrent: 3 } },
  guest: { pool: 'other', limits: {} },
} as const;

export type KeyName = keyof typeof KEYS;

export const secretOf = (key: KeyName): string => `pg-${key}-of-the-accounting`;

/** Dollars per million tokens by Pool and model. `model-b` has a price in the long-context bucket, `model-c` has none. */
const PRICES = {
  team: {
    'model-a': { input: 1.25, cached_input: 0.125, output: 10 },
    'model-b': { input: 2.5, cached_input: 0.25, output: 15 },
    [IMAGE_MODEL]: { input: 5, cached_input: 1.25, output: 40 },
    'gpt-4o-transcribe': { input: 6, cached_input: 6, output: 10 },
  },
  other: { 'model-a': { input: 3, cached_input: 0.5, output: 12 } },
} as const;

export function nanoPrices(pool: 'team' | 'other', model: string | null): NanoPrices | undefined {
  const prices: Readonly<Record<string, { readonly input: number; readonly cached_input: number; readonly output: number }>> = PRICES[pool];
  const found = model === null ? undefined : prices[model];
  return found && { input: found.input * 1000, cached: found.cached_input * 1000, output: found.output * 1000 };
}

function configured(draft: Draft): void {
  const { routes } = parse(readFileSync(new URL('../../../config.yaml', import.meta.url), 'utf8')) as Draft;
  const search = '/backend-api/agent/alpha/search';
  // This row passes requests to a path that the simulated provider answers.
  draft.routes = (routes as Draft[]).map((row) => (row.POST === search ? { ...row, status: 'supported', to: '/backend-api/files' } : row));
  draft.accounts[2].compact = 'trigger';
  const modelsOf = (prices: Readonly<Record<string, unknown>>): Draft =>
    Object.fromEntries(
      Object.entries(prices).map(([model, its]) => [
        model,
        { prices: its, ...(model === 'model-b' ? { pricing_bucket: 'long_context' } : {}) },
      ]),
    );
  const [pool] = draft.pools;
  pool.image_host_model = 'model-a';
  draft.pools = [
    { ...pool, models: modelsOf(PRICES.team) },
    { ...structuredClone(pool), id: 'other', label: 'Other', strategy: 'rotation', models: modelsOf(PRICES.other) },
  ];
  draft.keys = Object.entries(KEYS).map(([id, { pool, limits }]) => ({
    id,
    pool,
    limits,
    secret_sha256: [hash('sha256', secretOf(id as KeyName), 'hex')],
  }));
}

/** One turn with its plan, and with what the accounts recorded. */
export interface Planned {
  readonly id: number;
  /** One delivery for each attempt; further attempts get the last one. */
  readonly attempts: readonly Delivery[];
  /** How many attempts reached an account. */
  arrived: number;
  /** The account that got the last attempt. */
  account: string;
}

/** A mark in the text of a turn, on every path; an account finds the plan by it. */
export const markOf = (id: number): string => `turn-${id}-`;

export class Stage implements AsyncDisposable {
  readonly clock = new ManualClock();
  readonly #planned = new Map<number, Planned>();
  gate!: TestGateway;

  static async open(store?: string): Promise<Stage> {
    const stage = new Stage();
    const { clock } = stage;
    stage.gate = await startGateway({
      clock,
      upstream: {
        clock,
        accounts: [...ACCOUNTS],
        strict: false,
        models: TEXT_MODELS.map((slug) => modelEntry({ slug })),
        script: (request) => stage.#script(request),
      },
      config: configured,
      ...(store === undefined ? {} : { store }),
    });
    return stage;
  }

  plan(id: number, attempts: readonly Delivery[]): Planned {
    const planned = { id, attempts, arrived: 0, account: '' };
    this.#planned.set(id, planned);
    return planned;
  }

  /** The plans of which at least one attempt reached an account. */
  get dispatched(): readonly Planned[] {
    return [...this.#planned.values()].filter(({ arrived }) => arrived > 0);
  }

  async restart(): Promise<void> {
    this.gate = await this.gate.restarted({ clock: this.clock });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.gate.close();
  }

  #script({ path, query, body, ...request }: ReceivedRequest): Script | undefined {
    // A file is ready at the first request.
    if (path.endsWith('/uploaded')) return replyJson({ status: 'success', file_size_bytes: 5 });
    const [, id] = /turn-(\d+)-/.exec(`${query}${body}`) ?? [];
    const planned = id === undefined ? undefined : this.#planned.get(Number(id));
    if (!planned) return undefined;
    planned.arrived += 1;
    planned.account = request.account;
    const delivery = planned.attempts[Math.min(planned.arrived, planned.attempts.length) - 1];
    return delivery?.script({ path, query, body, ...request });
  }
}
