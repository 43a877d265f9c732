// Sends HTTP requests with a key, and reads whole answers.
import { request } from 'undici';

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
  readonly json: any;
}

export interface RequestOptions {
  /** The method. Default: POST if there is a body. */
  readonly method?: string;
  /** The body. If it is neither text nor bytes, it is sent as JSON. */
  readonly body?: unknown;
  /** The headers. `authorization` replaces the key. */
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
}

function requestOf(key: string, { method, body, headers = {}, signal }: RequestOptions) {
  const text = body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { authorization: `Bearer ${key}`, ...type, ...headers },
    ...(text === undefined ? {} : { body: text }),
    ...(signal ? { signal } : {}),
  };
}

/** Where requests go, and the key that they have. */
export interface Addressed {
  readonly url: string;
  readonly key: string;
}

export const fetchFrom = ({ url, key }: Addressed, path: string, init: RequestOptions = {}): Promise<Response> =>
  fetch(url + path, requestOf(key, init));

/** What `fetch` adds to a request, except for codings. */
const ADDED = { accept: '*/*', 'accept-language': '*', 'sec-fetch-mode': 'cors', 'user-agent': 'node' } as const;

/** Sends such a request, and reads the whole answer. `fetch` takes three times the processor time for it. */
export async function sendTo({ url, key }: Addressed, path: string, init: RequestOptions = {}): Promise<Reply> {
  const asked = requestOf(key, { ...init, headers: { ...ADDED, ...init.headers } });
  const { statusCode, headers, body } = await request(url + path, asked);
  const text = await body.text();
  const fields = Object.entries(headers).flatMap(([name, values = []]) => [values].flat().map((value): [string, string] => [name, value]));
  return { status: statusCode, headers: new Headers(fields), text, json: jsonOrUndefined(text) };
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
