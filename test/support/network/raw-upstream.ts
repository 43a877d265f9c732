// An account whose turns a test answers on the socket itself, with bytes that no HTTP server would send.
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { modelsWithin } from '../../../proxy/rehearsal/model/sample-models.ts';
import type { Draft } from '../gateway.ts';

export interface RawTurn {
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

export class RawUpstream {
  readonly url: string;
  readonly turns: RawTurn[] = [];
  readonly #close: () => Promise<void>;

  constructor(url: string, close: () => Promise<void>) {
    this.url = url;
    this.#close = close;
  }

  /** Returns the edit for `startGateway` that gives the account this address. */
  as(account: string): (draft: Draft) => void {
    return (draft) => {
      for (const row of draft.accounts) if (row.id === account) row.base_url = this.url;
    };
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

/** Answers model lists like any account, and passes the socket of every turn to `answer`. */
export async function startRawUpstream(answer: (socket: Socket, turn: RawTurn) => void): Promise<RawUpstream> {
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ models: modelsWithin() }));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const turn = { headers: request.headers, body: Buffer.concat(chunks).toString() };
      rawUpstream.turns.push(turn);
      request.socket.on('error', () => undefined);
      answer(request.socket, turn);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  const rawUpstream = new RawUpstream(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, close);
  return rawUpstream;
}

/** The head of an answer, which is to be followed by a body. */
export function rawHead(status: number, headers: Readonly<Record<string, string | number>> = {}): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`;
}

/** A whole answer with this body. */
export function rawResponse(status: number, body: string, headers: Readonly<Record<string, string | number>> = {}): string {
  return rawHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...headers }) + body;
}
