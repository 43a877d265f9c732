// A forwarded client as the owner of its session sees it: its identity, and the content of its messages.
import type { Frame } from '../clients/websocket/frame.ts';
import type { WebsocketConnection } from '../clients/websocket/websocket-connection.ts';
import type { ForwardedClient } from '../nodes/forwarded-client.ts';
import { decodeMessage } from '../nodes/forwarded-frame.ts';
import type { KeyConfig } from '../turn/settings.ts';
import type { UpgradeRequest } from './client-upgrade.ts';
import type { Generation } from './generation.ts';

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
