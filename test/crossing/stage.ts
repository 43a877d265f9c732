// The stage of the crossing: one gateway with an account of each kind of server, a Pool for each, and Pools of several.
import { hash } from 'node:crypto';
import type { RehearsalAccount } from '../../proxy/rehearsal/account/simulated-account.ts';
import type { NamedApi } from '../../proxy/rehearsal/apis/api-settings.ts';
import { PRESETS, type PresetName, presetOf } from '../../proxy/turn/provider/presets.ts';
import { type Draft, type GatewayOptions, startGateway, type TestGateway } from '../support/gateway.ts';
import { CHAT_CLIENTS } from './clients/chat-clients.ts';
import type { Client } from './clients/client.ts';
import { MESSAGES_CLIENTS } from './clients/messages-clients.ts';
import { RESPONSES_CLIENTS } from './clients/responses-clients.ts';

export const CLIENTS: readonly Client[] = [...RESPONSES_CLIENTS, ...CHAT_CLIENTS, ...MESSAGES_CLIENTS];

/** A server, both as an account of the gateway and as an account of the simulated provider. */
export interface Server {
  readonly id: string;
  readonly api: 'agent' | 'responses' | 'chat';
  readonly preset?: PresetName;
  /** Settings of the account in addition to its preset. */
  readonly settings?: Draft;
}

/** Each preset with each of its APIs, servers without a preset, and an agent account. */
export const SERVERS: readonly Server[] = [
  { id: 'native', api: 'agent' },
  { id: 'platform', api: 'responses' },
  { id: 'socket', api: 'responses', settings: { websocket: true } },
  { id: 'box', api: 'chat' },
  ...(Object.keys(PRESETS) as readonly PresetName[]).flatMap((preset) =>
    presetOf(preset).apis.map((api): Server => ({ id: `${preset}_${api}`, api, preset })),
  ),
];

export const keyOf = (pool: string): string => `pg-key-of-${pool}`;

/** The account as the simulated server needs it, so that it refuses what the server of this preset refuses. */
function simulated({ id, api, preset, settings }: Server): RehearsalAccount {
  if (api === 'agent') return { id };
  const known = preset && presetOf(preset);
  const named: NamedApi = {
    api,
    quirks: known?.quirks ?? {},
    serves: known?.serves ?? ['turns', 'compact'],
    hostedTools: known?.hosted_tools ?? [],
    websocket: settings?.websocket ?? (api === 'responses' && known?.websocket === true),
    compact: settings?.compact ?? (api === 'responses' ? (known?.compact ?? 'summary') : 'summary'),
  };
  return { id, api: named, ...(known?.credential === 'header' ? { credentialHeader: 'api-key' } : {}) };
}

function accountOf(draft: Draft, { api, preset, settings }: Server): Draft {
  if (api === 'agent') return draft;
  const { id, label, base_url, credential } = draft;
  const known = preset && presetOf(preset);
  const own =
    known?.credential === 'header'
      ? { header: { name: 'api-key', ...credential.bearer } }
      : known?.credential === 'none'
        ? 'none'
        : credential;
  // Windows and longest outputs come from the list of the account; most lists do not state which kinds of input a model takes.
  const catalog = [{ id: 'model-a', input_modalities: ['text', 'image'] }];
  return { id, label, base_url, credential: own, api, catalog, ...(preset ? { preset } : {}), ...settings };
}

export interface StageOptions extends Omit<GatewayOptions, 'upstream'> {
  readonly servers?: readonly Server[];
  /** The Pools of several servers, each with its assignments in order. */
  readonly pools?: Readonly<Record<string, readonly string[]>>;
}

/** Starts the gateway. Each server has a Pool with its own id, and the key of that Pool is `keyOf(id)`. */
export async function startStage({ servers = SERVERS, pools = {}, config, ...options }: StageOptions = {}): Promise<TestGateway> {
  const all = { ...Object.fromEntries(servers.map(({ id }) => [id, [id]])), ...pools };
  return await startGateway({
    ...options,
    upstream: { accounts: servers.map(simulatedWithCredential) },
    config(draft) {
      draft.accounts = draft.accounts.map((account: Draft, i: number) => accountOf(account, servers[i] as Server));
      draft.pools = Object.entries(all).map(([id, members]) => ({
        id,
        strategy: 'fill_first',
        max_attempts: 4,
        // The next account is used if the one before it cannot take a turn.
        assignments: members.map((account, tier) => ({ account, tier })),
        ...(members.length > 1 ? { overflow: { on: ['quota', 'failing', 'full'] } } : {}),
      }));
      draft.keys = Object.keys(all).map((pool) => ({ id: `key-${pool}`, pool, secret_sha256: [hash('sha256', keyOf(pool), 'hex')] }));
      config?.(draft);
    },
  });
}

/** A server that requires no credential gets none. */
function simulatedWithCredential(server: Server): RehearsalAccount {
  const account = simulated(server);
  return server.preset && presetOf(server.preset).credential === 'none' ? { ...account, credential: undefined } : account;
}
