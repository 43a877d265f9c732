// A client that is forwarded between nodes: how its node describes it and its frames, and how the owner of its session reads them (Q34).
import type { Frame } from '../clients/websocket/frame.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { ForwardedClient } from '../nodes/forwarded-client.ts';
import { decodeMessage, type ForwardedMessage } from '../nodes/forwarded-frame.ts';
import { Refusal, refusalOf } from '../turn/errors/refusal.ts';
import { isObject } from '../turn/json/json.ts';
import type { LiveTurn } from '../turn/live-turn.ts';
import type { KeyConfig } from '../turn/settings.ts';
import type { Body, ModeDecision } from '../turn/turn.ts';
import { continuityHeaders } from '../turn/wire/session-header.ts';
import type { UpgradeRequest } from './client-upgrade.ts';
import type { Generation } from './generation.ts';

export function clientOf(turn: LiveTurn, { client_metadata }: Body): ForwardedClient {
  const { address, headers, key, pool, query, route, surface, wire } = turn;
  const isAsked = key.allow_from !== undefined || turn.generation.config.log.client_address;
  const turnId = isObject(client_metadata) ? client_metadata.turn_id : undefined;
  return {
    key: key.id,
    pool: pool.id,
    path: route.template,
    query,
    ...(address !== undefined && isAsked && { address }),
    headers: { ...surface.requestHeaders(headers, wire), ...continuityHeaders(headers, wire) },
    turn_id: typeof turnId === 'string' ? turnId : '',
  };
}

/**
 * The message for the owner, with the serving mode that this node captured. The checks of this node apply too, because its configuration may
 * be newer than the owner's.
 */
export function forwardedMessage(turn: LiveTurn, frame: Frame): ForwardedMessage {
  try {
    // First, because every frame checks whether the connection's key can still be used.
    turn.rules.admit();
    if (frame instanceof Refusal) throw frame;
    const mode = modeOf(turn, frame.json);
    return { kind: 'frame', json: frame.json, bytes: frame.bytes, ...(mode && { mode }) };
  } catch (thrown) {
    if (!(thrown instanceof Refusal)) turn.fault(thrown);
    return { kind: 'refusal', refusal: refusalOf(thrown) };
  }
}

/** Undefined for a model without a mode, and for a model that is unknown at this node, whose mode the owner then decides. */
function modeOf(turn: LiveTurn, { model }: Body): ModeDecision | undefined {
  if (typeof model !== 'string' || turn.presenceOf(model) !== 'routable') return undefined;
  const view = turn.findModel(model);
  return view instanceof Promise ? undefined : view?.mode;
}

/**
 * The factor for the size of forwarded messages. A forwarded message contains the client's frame, encoded again, and its mode. A few
 * numbers may become longer.
 */
export const FORWARDED_SIZE = 2;

/** The request of a forwarded client. The other node has checked the key's secret, so the key's id is enough here. */
export function forwardedRequest({ path, query, headers, address, key: id }: ForwardedClient): UpgradeRequest {
  let known: { readonly generation: Generation; readonly key: KeyConfig | undefined } | undefined;
  const keyOf = (secret: string, generation: Generation): KeyConfig | undefined => {
    if (known?.generation !== generation) known = { generation, key: generation.config.keys.find((key) => key.id === secret) };
    return known.key;
  };
  return { path, query, headers: { ...headers, authorization: `Bearer ${id}` }, address, client: { keyOf } };
}

/** The frame in a message. Any other message is ignored or ends the connection. */
export function readForwarded(data: Buffer, connection: WebsocketConnection): Frame | undefined {
  const message = decodeMessage(data);
  if (message?.kind === 'frame') return message;
  if (message?.kind === 'refusal') return message.refusal;
  if (message) connection.closeAfterTurn(message.code, message.reason);
  return undefined;
}
