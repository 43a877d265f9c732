// A call of a client that can be attacked, as bytes over HTTP or as frames on a websocket, with its permitted answers.
import type { JsonObject } from '../../../proxy/turn/json/json.ts';

export type Surface = 'native' | 'public' | 'chat' | 'messages' | 'operator';

export interface HttpCall {
  readonly name: string;
  readonly surface: Surface;
  readonly method: string;
  readonly path: string;
  /** The headers besides Host, Authorization and the length. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The form of a complete answer. `other`: it passes unread. `any`: the form that the client's body requested. */
  readonly reply: 'json' | 'events' | 'chunks' | 'blocks' | 'other' | 'any';
  /** The number of requests to accounts that the call makes without faults. */
  readonly exchanges: number;
  /** Until when another account may be tried. */
  readonly retry: 'before commit' | 'before head' | 'never';
  /** Whether it uses tokens, which its row then states. */
  readonly metered: boolean;
  /** Whether the answer has the success status of the account, as for native files and transcripts. */
  readonly relaysStatus: boolean;
}

export interface SocketCall {
  readonly name: string;
  readonly surface: 'native' | 'public';
  readonly path: string;
  /** The `response.create` frames in order. Each gets the id of the response before it. */
  readonly frames: readonly ((previous: string | undefined) => JsonObject)[];
}

export type Credential = { readonly key: string; readonly operatorToken: string };

export function requestOf({ surface, method, path, headers, body }: HttpCall, { key, operatorToken }: Credential): Buffer {
  const authorization = `Bearer ${surface === 'operator' ? operatorToken : key}`;
  const length = method === 'POST' ? { 'content-length': String(body.length) } : {};
  const lines = Object.entries({ host: '127.0.0.1', authorization, ...headers, ...length }).map(([name, value]) => `${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${[`${method} ${path} HTTP/1.1`, ...lines].join('\r\n')}\r\n\r\n`), body]);
}
