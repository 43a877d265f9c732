// The gateway as users run it: with a configuration file, a store on disk and all rules.
import { hash } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { allocatorVariables, nodeFlags } from '../../../scripts/node-flags.mjs';
import type { Stage, Upstream } from '../stage.ts';
import { type Post, requestOf } from '../wire.ts';
import { type Relay, startNode } from './relay.ts';

/** A key with every policy. Its cap of output tokens is above every reply. */
export const KEY = 'pg-bench-key';
/** A key with every policy but a cap of output tokens. With a cap, the gateway counts the texts of each stream of an agent account. */
export const STREAM_KEY = 'pg-bench-key-for-streams';
/** A key of a Pool without an eligible account. */
export const CLOSED_KEY = 'pg-bench-key-of-a-closed-pool';
/** A key that may use every model. */
export const UPLOAD_KEY = 'pg-bench-key-for-uploads';
/** A key that may send one request a day. */
export const LIMITED_KEY = 'pg-bench-key-that-is-spent';

export const keyNumber = (number: number): string => (number === 0 ? KEY : `pg-bench-key-${number}`);

export interface Size {
  readonly accounts: number;
  readonly keys: number;
  /** Settings of the configuration under these names. */
  readonly admission?: object;
  readonly guard?: object;
  readonly limits?: object;
  readonly store?: object;
  readonly store_key?: object;
  readonly node?: object;
  /** The upstream of accounts that speak Chat Completions; it plays such answers. */
  readonly chat?: Upstream;
}

export const USUAL: Size = { accounts: 2, keys: 2 };

const MODELS = ['model-a', 'model-mini'];
const MANY = 100_000_000;
const ROOT = new URL('../../..', import.meta.url);
const MAIN = fileURLToPath(new URL('proxy/main.ts', ROOT));

const chatAccount = ({ port }: Upstream): object => ({
  api: 'chat',
  base_url: `http://127.0.0.1:${port}/v1`,
  catalog: MODELS.map((id) => ({ id, context_window: 272_000, reasoning_levels: ['low', 'medium', 'high'] })),
});

/** Writes a configuration file into its own folder, and returns its path. */
export function writeConfig(stage: Stage, { accounts, keys, chat, ...settings }: Size, port = 0): string {
  const directory = mkdtempSync(join(stage.directory, 'gateway-'));
  const ids = Array.from({ length: accounts }, (_, i) => `account-${i}`);
  const assignments = ids.map((account) => ({ account }));
  const key = (id: string, secret: string, pool: string): object => ({ id, pool, secret_sha256: [hash('sha256', secret, 'hex')] });
  const limits = { requests_per_minute: MANY, tokens_per_day: MANY * 100, concurrent: 100_000 };
  const policy = { models: MODELS, reasoning_effort: { allow_up_to: 'high' }, limits };
  const config = {
    listen: { port },
    admin: { port: 0 },
    store: `sqlite:${directory}/poolgate.db`,
    store_key: { file: `${directory}/store.key` },
    log: { level: 'warn' },
    ...settings,
    accounts: ids.map((id) => ({
      id,
      label: id,
      ...(chat ? chatAccount(chat) : { base_url: `http://127.0.0.1:${stage.upstream.port}` }),
      credential: { bearer: { env: 'BENCH_BEARER' } },
      max_concurrent: 100_000,
    })),
    pools: [
      { id: 'team', label: 'Team', assignments },
      { id: 'closed', label: 'Closed', assignments: assignments.slice(0, 1).map((one) => ({ ...one, eligible: false })) },
    ],
    keys: [
      ...Array.from({ length: keys }, (_, i) => ({ ...key(`key-${i}`, keyNumber(i), 'team'), ...policy, output_tokens: { max: MANY } })),
      { ...key('streams', STREAM_KEY, 'team'), ...policy },
      key('closed', CLOSED_KEY, 'closed'),
      key('uploads', UPLOAD_KEY, 'team'),
      { ...key('limited', LIMITED_KEY, 'team'), limits: { requests_per_day: 1 } },
    ],
  };
  const file = join(directory, 'config.yaml');
  writeFileSync(file, stringify(config, { aliasDuplicateObjects: false }));
  return file;
}

export const GATEWAY_ENV = { BENCH_BEARER: 'bench-bearer' };

/** Starts a gateway, and waits until it has read the catalogs of its accounts and answers a turn. */
export async function startGateway(stage: Stage, size: Size = USUAL, env: NodeJS.ProcessEnv = {}): Promise<Relay> {
  const program = [...nodeFlags(process.versions.node), MAIN, 'serve', '--config', writeConfig(stage, size)];
  const relay = await startNode(stage, program, { ...allocatorVariables, ...GATEWAY_ENV, ...env });
  for (let tries = 0; tries < 200; tries++) {
    if ((await firstStatus(relay.port, { path: '/backend-api/agent/responses', key: KEY })) === 200) return relay;
    await sleep(50);
  }
  throw new Error('the gateway does not answer');
}

/** The status of one request; 0 while no process listens. */
export async function firstStatus(port: number, post: Post): Promise<number> {
  const { path, headers, body } = requestOf(post);
  return fetch(`http://127.0.0.1:${port}${path}`, { method: 'POST', headers, body }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
}
