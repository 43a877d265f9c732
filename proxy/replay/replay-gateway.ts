// The gateway of a replay. It has a generated configuration with one account, a store in memory, and free ports on loopback.
import { hash, randomBytes } from 'node:crypto';
import { Log } from '../base/process/log.ts';
import { inspect } from '../config/loading/load.ts';
import { Gateway } from '../gateway/gateway.ts';
import type { ConversationExchange } from './conversation.ts';

export interface ReplayGateway {
  readonly url: string;
  readonly key: string;
  readonly close: () => Promise<void>;
}

const BEARER = 'REPLAY_BEARER';
/** The words of the only vendor whose native paths are known. */
const CODEX = { agent: 'codex', meter: 'wham', lite_marker: 'x-openai-internal-codex-responses-lite' };

/** @param accountUrl the base URL of the scripted account */
export async function startReplayGateway(accountUrl: string, conversation: readonly ConversationExchange[]): Promise<ReplayGateway> {
  const key = `pg-replay-${randomBytes(16).toString('hex')}`;
  const file = {
    listen: { host: '127.0.0.1', port: 0 },
    admin: false,
    store: 'sqlite::memory:',
    ...(conversation.some(({ path }) => path.startsWith('/backend-api/codex/')) ? { wire: CODEX } : {}),
    guard: { event_loop_ms: 0, memory_percent: 0 },
    // The client of a recording does not reconnect.
    timeouts: { websocket_resume_ms: 0, drain_ms: 1_000 },
    limits: { pins_in_memory: 1_000 },
    accounts: [{ id: 'recorded', label: 'Recorded', base_url: accountUrl, credential: { bearer: { env: BEARER } } }],
    // A recorded failure is answered without an attempt at another account.
    pools: [{ id: 'replay', label: 'Replay', max_attempts: 1, assignments: [{ account: 'recorded' }] }],
    keys: [{ id: 'client', pool: 'replay', secret_sha256: [hash('sha256', key, 'hex')] }],
  };
  const { config, findings, ...resolved } = await inspect(JSON.stringify(file), {
    path: 'replay.yaml',
    env: { [BEARER]: 'recorded-credential' },
  });
  if (!config) throw new Error(`the generated configuration is not valid: ${findings.map(({ message }) => message).join('; ')}`);
  const loaded = { config, path: 'replay.yaml', ...resolved };
  const gateway = await Gateway.open({ loaded, log: new Log('error', () => undefined) });
  const { main } = await gateway.listen();
  return { url: `http://127.0.0.1:${main?.port}`, key, close: async () => void (await gateway.close()) };
}
