// A client for tests of the rehearsal provider: sends requests, and reads the replies as events.
import { connect } from 'node:net';
import type { Json, JsonObject } from '../../proxy/turn/json/json.ts';
import { turnBody } from './rehearsal-replies.ts';

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: JsonObject | undefined;
  /** The body as SSE events. */
  readonly events: readonly JsonObject[];
}

const neutralPath = '/backend-api/agent/responses';

/** Sends a turn to an account and reads the whole answer. */
export async function ask(
  url: string,
  body: Json = turnBody('hello'),
  headers: Readonly<Record<string, string>> = {},
  path = neutralPath,
): Promise<Heard> {
  const response = await send(url, body, headers, path);
  return await heard(response);
}

/** Sends a turn. The answer is still to be read. */
export function send(
  url: string,
  body: Json = turnBody('hello'),
  headers: Readonly<Record<string, string>> = {},
  path = neutralPath,
  signal?: AbortSignal,
): Promise<Response> {
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** Reads a path. */
export async function get(url: string, path: string, headers: Readonly<Record<string, string>> = {}): Promise<Heard> {
  const response = await fetch(`${url}${path}`, { headers });
  return await heard(response);
}

/** Reads the bytes of a connection until it ends. `how` distinguishes a reset from an orderly end. */
export function raw(url: string, body: Json = turnBody('hello')): Promise<{ readonly text: string; readonly how: 'end' | 'reset' }> {
  const { hostname, port } = new URL(url);
  const text = JSON.stringify(body);
  const head = `POST ${neutralPath} HTTP/1.1\r\nhost: ${hostname}\r\ncontent-type: application/json\r\nconnection: close\r\n`;
  return new Promise((resolve) => {
    let received = '';
    const socket = connect(Number(port), hostname, () => socket.write(`${head}content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`));
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      received += chunk;
    });
    socket.on('end', () => resolve({ text: received, how: 'end' }));
    socket.on('error', () => resolve({ text: received, how: 'reset' }));
  });
}

/** The events of an SSE body with any line ends. An event whose data is not JSON is `{malformed: data}`. */
export function eventsOf(text: string): readonly JsonObject[] {
  return text
    .split(/(?:\r\n|\r|\n){2}/)
    .map((block) => block.split(/\r\n|\r|\n/).find((line) => line.startsWith('data: ')))
    .filter((line) => line !== undefined)
    .map((line) => parsed(line.slice('data: '.length)) ?? { malformed: line });
}

/** The types of events, in order. */
export const typesOf = (events: readonly JsonObject[]): readonly (Json | undefined)[] => events.map(({ type }) => type);

/** The finished items of a response in order, from its events, because the terminal event need not have them (RB17). */
export const itemsOf = (events: readonly JsonObject[]): readonly Json[] =>
  events.flatMap(({ type, item }) => (type === 'response.output_item.done' && item !== undefined ? [item] : []));

/** The events without keepalives, which positions of faults do not count. */
export const countedEvents = (events: readonly JsonObject[]): readonly JsonObject[] => events.filter(({ type }) => type !== 'keepalive');

/** The value at a path of member names and indexes; undefined if there is none. */
export function at(json: Json | undefined, ...path: readonly (string | number)[]): Json | undefined {
  let here: unknown = json;
  for (const step of path) here = typeof here === 'object' && here !== null ? (here as Record<string | number, unknown>)[step] : undefined;
  return here as Json | undefined;
}

/** Reads an answer. */
export async function heard(response: Response): Promise<Heard> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text), events: eventsOf(text) };
}

function parsed(text: string): JsonObject | undefined {
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return undefined;
  }
}
