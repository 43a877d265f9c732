// The configuration of the attacked gateway: one Pool with two accounts and a key for each lane, every route served, and short deadlines.
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Draft } from '../../support/gateway.ts';
import type { Said } from '../calls/verdict.ts';

/**
 * The deadlines. All but that of held heads are longer than a process pauses on a busy machine, because a call that reaches one without a
 * fault is a finding.
 */
export const DEADLINES = { first_byte: 8_000, idle: 5_000, hold: 500, client_header: 5_000, client_body_idle: 2_500 } as const;

/** Longer than all deadlines that a call can meet one after another. */
export const PATIENCE_MS = 40_000;

export const BEARER = 'bearer-of-the-torture';
export const OPERATOR_TOKEN = 'pg-mcp-torture';

/** The key of a lane. Each lane has two. */
export const keyOf = (lane: number, said: Said): string => `pg-torture-${keyId(lane, said)}`;

export const keyId = (lane: number, said: Said): string => `lane-${lane}${said === 'spoilt' ? '-spoilt' : ''}`;

export const accountsOf = (lane: number): readonly [string, string] => [`lane-${lane}-a`, `lane-${lane}-b`];

const digest = (secret: string): readonly string[] => [hash('sha256', secret, 'hex')];

/** More than any attack uses, so that reservations that were not released still show. */
const MANY = 1_000_000_000;
const LIMITS = { requests_per_minute: MANY, tokens_per_day: MANY * 100, concurrent: 10_000 };

/** @param urlOf returns the address of an account */
export function settingsFor(lanes: number, folder: string, urlOf: (account: string) => string): Draft {
  const all = Array.from({ length: lanes }, (_, lane) => lane);
  return {
    listen: { host: '127.0.0.1', port: 0 },
    admin: { host: '127.0.0.1', port: 0 },
    store: `sqlite:${folder}/data/poolgate.db`,
    store_key: { file: `${folder}/data/store.key` },
    log: { level: 'info' },
    limits: {
      request_body_bytes: 4_194_304,
      // The bodies of the attack on memory have fewer; only its uploads, which stream, have more.
      body_small_pieces: 210_000,
      bodies_in_memory_bytes: 33_554_432,
      upstream_event_bytes: 1_048_576,
      replies_in_memory_bytes: 33_554_432,
      file_bytes: 1_048_576,
      upload_bytes: 4_194_304,
      // Every refusal needs its row, because rows are compared with answers.
      keyless_rows_per_second: 1_000_000,
    },
    timeouts: {
      client_header_ms: DEADLINES.client_header,
      client_body_idle_ms: DEADLINES.client_body_idle,
      websocket_resume_ms: 300,
      upstream_connect_ms: 5_000,
      upstream_first_byte_ms: DEADLINES.first_byte,
      upstream_idle_ms: DEADLINES.idle,
      hold_ms: DEADLINES.hold,
      drain_ms: 1_000,
    },
    guard: { event_loop_ms: 0, memory_percent: 0 },
    accounts: all.flatMap(accountsOf).map((id) => ({
      id,
      label: id,
      base_url: urlOf(id),
      credential: { bearer: { env: 'TORTURE_BEARER' } },
      max_concurrent: 1_000,
    })),
    pools: all.map((lane) => ({
      id: `lane-${lane}`,
      strategy: 'fill_first',
      image_host_model: 'model-a',
      request_compression_enabled: true,
      assignments: accountsOf(lane).map((account) => ({ account })),
    })),
    keys: all.flatMap((lane) =>
      (['as ever', 'spoilt'] as const).map((said) => ({
        id: keyId(lane, said),
        pool: `lane-${lane}`,
        secret_sha256: digest(keyOf(lane, said)),
        limits: LIMITS,
      })),
    ),
    operators: [{ id: 'ops', token_sha256: digest(OPERATOR_TOKEN), owns: all.map((lane) => `lane-${lane}`) }],
    routes: routes(),
  };
}

/** One Pool with one account, the shipped limits, and a key for each presser and for the working key. */
export function pressureSettings(pressers: number, folder: string, url: string): Draft {
  const { accounts, pools, limits, timeouts, guard, keys, operators, ...rest } = settingsFor(pressers + 1, folder, () => url);
  return {
    ...rest,
    accounts: (accounts as Draft[]).slice(0, 1),
    pools: [{ id: 'lane-0', image_host_model: 'model-a', assignments: [{ account: 'lane-0-a' }] }],
    keys: (keys as Draft[]).filter(({ id }) => !String(id).endsWith('spoilt')).map((key) => ({ ...key, pool: 'lane-0' })),
  };
}

/** The shipped route table, with every row served that can be. */
function routes(): readonly Draft[] {
  const shipped = parse(readFileSync(new URL('../../../config.yaml', import.meta.url), 'utf8')) as Draft;
  return (shipped.routes as Draft[]).map((row) =>
    row.serve ? { ...row, status: row.status === 'unsupported' ? 'supported' : row.status } : row,
  );
}
