// An account of the second provider API of the tests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '../../../proxy/turn/json/json.ts';

export interface TalkRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly json: unknown;
}

/** Answers one turn. */
export type TalkAnswer = (response: ServerResponse) => void;

const USED = { 'x-used': '25/3600' };

/** Sends a stream of these events, in chunks of this size. */
export const talks =
  (events: readonly Json[], { chunk = 65_536 }: { readonly chunk?: number } = {}): TalkAnswer =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...USED });
    const bytes = Buffer.from(`: hello\n\n${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}`);
    for (let at = 0; at < bytes.length; at += chunk) response.write(bytes.subarray(at, at + chunk));
    response.end();
  };

export const answers =
  (status: number, body: Json, headers: Readonly<Record<string, string>> = {}): TalkAnswer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

export class TalkServer {
  readonly url: string;
  /** The turns that it got. */
  readonly turns: TalkRequest[] = [];
  /** The answers to the next turns. */
  readonly next: TalkAnswer[] = [];
  readonly #close: () => Promise<void>;

  constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  clear(): void {
    this.turns.length = 0;
    this.next.length = 0;
  }

  close(): Promise<void> {
    return this.#close();
  }
}

/** Events whose text is `hello brave new world`. */
export const HELLO: readonly Json[] = [{ half: 'hel' }, { half: 'lo' }, { words: ['brave', 'new'] }, { words: ['world'], spent: [7, 4] }];

/** @param models the window of each model id */
export async function startTalkServer(models: Readonly<Record<string, number>>): Promise<TalkServer> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const path = request.url ?? '';
      if (path === '/shelf') answers(200, { shelf: models })(response);
      else if (path.startsWith('/talk/')) {
        talk.turns.push({ path, headers: request.headers, json: JSON.parse(Buffer.concat(chunks).toString()) });
        (talk.next.shift() ?? talks(HELLO))(response);
      } else answers(404, { trouble: 'nonsense' })(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const talk = new TalkServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, close);
  return talk;
}
