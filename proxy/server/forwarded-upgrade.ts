// A forwarded client as the owner of its session sees it: its identity, and the content of its messages.
import type { WebsocketConnection } from '../clients/websocket/connection.ts';
import type { Frame } from '../clients/websocket/frame.ts';
import type { ForwardedClient } from '../nodes/forwarded-client.ts';
import { decodeMessage } from '../nodes/forwarded-frame.ts';
import type { KeyConfig } from '../turn/settings.ts';
import type { UpgradeRequest } from './client-upgrade.ts';
import type { Generation } from './generation.ts';

/** A forwarded frame has the client's frame, encoded again, and its mode. A few numbers may become longer than the client wrote them. */
export const FORWARDED_SIZE = 2;

/** The other node has checked the secret of the key: here the id of the key identifies it. */
export function forwardedRequest({ path, query, headers, address, key: id }: ForwardedClient): UpgradeRequest {
  let known: { readonly generation: Generation; readonly key: KeyConfig | undefined } | undefined;
  const keyOf = (secret: string, generation: Generation): KeyConfig | undefined => {
    if (known?.generation !== generation) known = { generation, key: generation.config.keys.find((key) => key.id === secret) };
    return known.key;
  };
  return { path, query, headers: { ...headers, authorization: `Bearer ${id}` }, address, client: { keyOf } };
}

/** The frame of a message; any other message ends the connection, or is ignored. */
export function readForwarded(data: Buffer, connection: WebsocketConnection): Frame | undefined {
  const message = decodeMessage(data);
  if (message?.kind === 'frame') return message;
  if (message?.kind === 'refusal') return message.refusal;
  if (message) connection.closeAfterTurn(message.code, message.reason);
  return undefined;
}
