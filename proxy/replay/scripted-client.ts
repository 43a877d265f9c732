// The client of a replay. It sends each request and frame as the recorded client did, and collects the answers.
import { request } from 'node:http';
import { WebSocket } from 'ws';
import type { Json } from '../turn/json/json.ts';
import { type ConversationExchange, encodedBytes, type ReplayBody, type ReplayFrame } from './conversation.ts';
import { jsonOrText, repliesAfter, typeOf } from './frames.ts';

export interface Received {
  /** Absent if the connection ended before an answer. */
  readonly status?: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: Pick<ReplayBody, 'json' | 'events'>;
  /** Over HTTP, whether the connection died before the end of the answer. */
  readonly cut?: boolean;
  /** The frames of a websocket. */
  readonly frames: readonly Json[];
  /** The answers that did not come in time. */
  readonly overdue?: string;
}

/** The longest wait for each answer. The gateway and both scripts run in one process. */
const ANSWER_MS = 10_000;

/** Headers that the connection or the replay sets. */
const OWN = new Set(['host', 'connection', 'keep-alive', 'content-length', 'transfer-encoding', 'authorization', 'upgrade', 'expect']);

export interface ClientOptions {
  /** The origin of the gateway. */
  readonly url: string;
  /** The secret of the Pool key. */
  readonly key: string;
}

export async function sendExchange(exchange: ConversationExchange, options: ClientOptions): Promise<Received> {
  return exchange.method === 'WS' ? overWebsocket(exchange, options) : overHttp(exchange, options);
}

const headersOf = ({ headers }: ConversationExchange, key: string): Record<string, string> => ({
  ...Object.fromEntries(headers.filter(([name]) => !OWN.has(name) && !name.startsWith('sec-websocket-'))),
  authorization: `Bearer ${key}`,
});

function overHttp(exchange: ConversationExchange, { url, key }: ClientOptions): Promise<Received> {
  const { method, path, body, headers } = exchange;
  return new Promise((resolve) => {
    const bytes = body && encodedBytes(body);
    const isChunked = headers.some(([name]) => name === 'transfer-encoding');
    const length = bytes && !isChunked ? { 'content-length': String(bytes.length) } : {};
    const sending = request(url + path, { method, headers: { ...headersOf(exchange, key), ...length }, agent: false, timeout: ANSWER_MS });
    sending.on('timeout', () => sending.destroy());
    sending.on('error', () => resolve({ headers: [], frames: [] }));
    sending.on('response', async (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
      await new Promise((ended) => answer.once('close', ended));
      const text = Buffer.concat(chunks).toString('utf8');
      const { statusCode: status = 0, rawHeaders } = answer;
      const lines = rawHeaders.flatMap((name, i) => (i % 2 === 0 ? [[name.toLowerCase(), rawHeaders[i + 1] ?? ''] as const] : []));
      resolve({
        status,
        headers: lines,
        frames: [],
        cut: !answer.complete,
        ...(text === '' ? {} : { body: bodyOf(text, answer.headers['content-type']) }),
      });
    });
    sending.end(bytes);
  });
}

function bodyOf(text: string, type = ''): Pick<ReplayBody, 'json' | 'events'> {
  if (!type.startsWith('text/event-stream')) return { json: jsonOrText(text) };
  const events = text.split(/\r\n\r\n|\n\n|\r\r/).flatMap((block) => {
    const lines = block.split(/\r\n|\n|\r/);
    const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).replace(/^ /, ''));
    return data.length === 0 ? [] : [{ named: lines.some((line) => line.startsWith('event:')), data: jsonOrText(data.join('\n')) }];
  });
  return { events };
}

async function overWebsocket(exchange: ConversationExchange, { url, key }: ClientOptions): Promise<Received> {
  const offer = exchange.headers.find(([name]) => name === 'sec-websocket-extensions')?.[1] ?? '';
  const socket = new WebSocket(url.replace(/^http/, 'ws') + exchange.path, {
    headers: headersOf(exchange, key),
    perMessageDeflate: offer.includes('permessage-deflate'),
  });
  socket.on('error', () => undefined);
  const frames: Json[] = [];
  let changed = (): void => undefined;
  socket.on('message', (data) => {
    frames.push(jsonOrText(String(data)));
    changed();
  });
  socket.on('close', () => changed());
  const head = await headOf(socket);
  if (head.status !== 101) return { ...head, frames };
  const until = (done: () => boolean): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ANSWER_MS);
      changed = () => {
        if (!done() && socket.readyState === WebSocket.OPEN) return;
        clearTimeout(timer);
        resolve(true);
      };
      changed();
    });
  let overdue: string | undefined;
  for (const [at, frame] of exchange.frames.entries()) {
    if (frame.from !== 'client' || overdue !== undefined) continue;
    if (frame.close !== undefined) {
      socket.close(frame.close === 1005 ? undefined : frame.close);
      continue;
    }
    const seen = frames.length;
    socket.send(frame.json !== undefined ? JSON.stringify(frame.json) : (frame.text ?? Buffer.alloc(frame.binary ?? 0)));
    const awaited = lastBeforeNext(exchange.frames, at);
    if (awaited === undefined) continue;
    // A turn through the gateway may have fewer or more frames. It ends with the type with which it was recorded to end.
    const came = await until(() => frames.slice(seen).some((one) => typeOf(one) === awaited));
    if (!came) overdue = awaited;
  }
  if (exchange.end === 'left' || overdue !== undefined) socket.terminate();
  else if (socket.readyState === WebSocket.OPEN && !exchange.frames.some(({ close }) => close !== undefined)) socket.terminate();
  if (socket.readyState !== WebSocket.CLOSED) {
    await until(() => socket.readyState === WebSocket.CLOSED);
    socket.terminate();
  }
  return { ...head, frames, ...(overdue === undefined ? {} : { overdue }) };
}

/** Resolves with the head of the answer to the upgrade. */
function headOf(socket: WebSocket): Promise<Received> {
  return new Promise((resolve) => {
    socket.once('upgrade', ({ headers }) => {
      const lines = Object.entries(headers).map(([name, value]) => [name, String(value)] as const);
      socket.once('open', () => resolve({ status: 101, headers: lines, frames: [] }));
    });
    socket.once('unexpected-response', (_, answer) => {
      const lines = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as const);
      resolve({ status: answer.statusCode ?? 0, headers: lines, frames: [] });
      socket.terminate();
    });
    socket.once('close', () => resolve({ headers: [], frames: [] }));
  });
}

/** The type of the account's last frame before the client's next one. */
function lastBeforeNext(frames: readonly ReplayFrame[], at: number): string | undefined {
  const last = repliesAfter(frames, at).findLast(({ json }) => json !== undefined);
  return last && typeOf(last.json);
}
