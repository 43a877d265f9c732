// A response that runs while its client sends controls: the Pools of the gateway, the start of the response, and what the answers state.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Draft, TestGateway } from '../../support/gateway.ts';
import { frameOf } from '../../support/native-frames.ts';
import type { TestSocket } from '../../support/websocket.ts';

/** The secret of the key whose turns go over HTTP. */
export const PLAIN = 'pg-plain-pool';

/**
 * The reply stalls after its created event, its in-progress event and the start of the first item; a websocket has three more frames before
 * them.
 */
export const INSIDE = { websocket: 'stall after 6 events', http: 'stall after 3 events' };

/** Gives north, which has a websocket, to one Pool, and plain, which has none, to another. */
export function twoPools(draft: Draft): void {
  draft.accounts[1].websocket = false;
  draft.pools = [
    { id: 'team', label: 'Team', assignments: [{ account: 'north' }] },
    // Upgrades need an account with websocket; this one takes no turns.
    { id: 'plain', label: 'Plain', strategy: 'fill_first', assignments: [{ account: 'plain' }, { account: 'north' }] },
  ];
  draft.keys.push({ id: 'plain', pool: 'plain', secret_sha256: [hash('sha256', PLAIN, 'hex')] });
}

/** Starts a turn, and waits until its first item has begun. Returns the id of the response. */
export async function running(gate: TestGateway, socket: TestSocket, script: string, account = 'north'): Promise<string> {
  gate.upstream.next(account, script);
  socket.send({ type: 'response.create', ...frameOf('write 20 words') });
  for (;;) {
    const frame = await socket.next();
    if (frame.type === 'error') assert.fail(JSON.stringify(frame));
    if (frame.type === 'response.output_item.added') break;
  }
  return idIn(socket.frames.findLast(({ type }) => type === 'response.created'));
}

const idIn = (event: JsonObject | undefined): string =>
  isObject(event?.response) ? String(event.response.id) : assert.fail('no response');

export const codeOf = ({ error }: JsonObject): unknown => (isObject(error) ? error.code : undefined);

export const reasonOf = (frame: JsonObject | undefined): unknown => {
  const response = isObject(frame?.response) ? frame.response : {};
  return isObject(response.incomplete_details) ? response.incomplete_details.reason : undefined;
};

/** Frames of the upstream websocket that do not start a turn. */
export const controls = (gate: TestGateway): readonly unknown[] =>
  gate.upstream.requests().flatMap(({ method, turn, json }) => (method === 'WS' && turn === 0 ? [json] : []));
