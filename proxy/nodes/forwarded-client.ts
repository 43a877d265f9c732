// The data of a client that a node sends with a forwarded websocket. The node that owns the session serves the client with it.
import { isObject, type Json } from '../turn/json/json.ts';
import type { Headers } from '../turn/turn.ts';

export interface ForwardedClient {
  /** The id of the key that opened the connection. The forwarding node has checked the secret and does not send it. */
  readonly key: string;
  readonly pool: string;
  /** The path of the client's upgrade. */
  readonly path: string;
  readonly query: string;
  /** The client's headers that a turn or an account reads. */
  readonly headers: Headers;
  /** The client's address; absent if it is not known. */
  readonly address?: string | undefined;
  /** The turn id of the client's first frame. */
  readonly turn_id: string;
}

/** Encodes the client as the value of a header. */
export const encodeClient = (client: ForwardedClient): string => Buffer.from(JSON.stringify(client)).toString('base64url');

/** The client; undefined if the text was not written by a node of this version. */
export function decodeClient(text: string): ForwardedClient | undefined {
  let decoded: unknown;
  try {
    decoded = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!isObject(decoded)) return undefined;
  const { key, pool, path, query, headers, address = '', turn_id } = decoded;
  if (!areTexts(key, pool, path, query, address, turn_id) || !isObject(headers) || !areTexts(...Object.values(headers))) return undefined;
  return decoded as unknown as ForwardedClient;
}

const areTexts = (...values: readonly (Json | undefined)[]): boolean => values.every((value) => typeof value === 'string');
