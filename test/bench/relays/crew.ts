// The compared relays; each is started once and kept, and only one of them works at a time.
import { fileURLToPath } from 'node:url';
import { installed } from '../children.ts';
import type { Stage } from '../stage.ts';
import { startGateway } from './gateway.ts';
import { startHaproxy, startNginx } from './others.ts';
import { type Relay, startNode } from './relay.ts';

export const GATEWAY = 'poolgate';
export const GATEWAY_V1 = 'poolgate /v1';
/** Streams of a key with a cap of output tokens. */
export const GATEWAY_CAPPED = 'poolgate with a cap';
export const GATEWAY_CHAT = 'poolgate chat';
export const GATEWAY_MESSAGES = 'poolgate messages';
export const AGENT_ACCOUNT = 'agent account';
export const CHAT_ACCOUNT = 'chat account';
export const REFERENCE = 'http-proxy-3';
export const UNDICI = 'undici';

/** The relay of one column, and the surface that gets its load. */
export interface Contender {
  readonly name: string;
  readonly relay: Relay;
  readonly path: string;
}

export const NATIVE_PATH = '/backend-api/agent/responses';
export const V1_PATH = '/v1/responses';

const program = (name: string): string => fileURLToPath(new URL(`${name}.ts`, import.meta.url));

export const startReference = (stage: Stage): Promise<Relay> => startNode(stage, [program('http-proxy'), String(stage.upstream.port)]);

export const startWebsocketRelay = (stage: Stage): Promise<Relay> => startNode(stage, [program('websocket'), String(stage.upstream.port)]);

export const startRefuser = (stage: Stage, status: number, bytes: number, request: 'unread' | 'parsed'): Promise<Relay> =>
  startNode(stage, [program('refuser'), String(status), String(bytes), request]);

/** How each relay of this machine is started, by name; relays in C are included only if they are installed. */
export async function relaysOf(stage: Stage): Promise<ReadonlyMap<string, () => Promise<Relay>>> {
  const [nginx, haproxy] = await Promise.all([installed('nginx'), installed('haproxy')]);
  return new Map<string, () => Promise<Relay>>([
    [GATEWAY, () => startGateway(stage)],
    [REFERENCE, () => startReference(stage)],
    [UNDICI, () => startNode(stage, [program('undici'), String(stage.upstream.port)])],
    ...(nginx ? [['nginx', () => startNginx(stage)] as const] : []),
    ...(haproxy ? [['haproxy', () => startHaproxy(stage)] as const] : []),
  ]);
}

let crew: Promise<readonly Contender[]> | undefined;

/** All relays, and the two surfaces of the gateway. */
export function crewOf(stage: Stage): Promise<readonly Contender[]> {
  crew ??= startCrew(stage);
  return crew;
}

async function startCrew(stage: Stage): Promise<readonly Contender[]> {
  const contenders: Contender[] = [];
  for (const [name, startRelay] of await relaysOf(stage)) {
    const relay = await startRelay();
    contenders.push({ name, relay, path: NATIVE_PATH });
    if (name === GATEWAY) contenders.push({ name: GATEWAY_V1, relay, path: V1_PATH });
  }
  return contenders;
}
