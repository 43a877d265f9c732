// Forms that tests of transcription send, and the reader of the form that arrived at an account.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { FORM_TYPE, formOf, type Part } from '../form.ts';
import { type GatewayOptions, type Reply, startGateway, type TestGateway } from '../gateway.ts';

export const NATIVE = '/backend-api/transcribe';
export const PUBLIC = '/v1/audio/transcriptions';
export const SOUND = Buffer.from('RIFF the sound of a voice\r\n--not-a-boundary\r\n\0\xff', 'latin1');

export const file = (value: Buffer = SOUND): Part => ({ name: 'file', filename: 'voice.wav', type: 'audio/wav', value });
export const field = (name: string, value: string): Part => ({ name, value });
export const model = field('model', 'gpt-4o-transcribe');

/** A form of which only its path to an account matters. */
export function audioForm(): FormData {
  const form = new FormData();
  form.set('file', new Blob(['RIFF']), 'a.wav');
  form.set('model', 'gpt-4o-transcribe');
  return form;
}

export const transcribe = (gate: TestGateway, path: string, parts: readonly Part[], headers: Record<string, string> = {}): Promise<Reply> =>
  gate.send(path, { body: formOf(parts), headers: { 'content-type': FORM_TYPE, ...headers } });

/** The parts that arrived, in order: fields as `name=value`, files by name, type and size. */
export async function arrivedParts({ headers, body }: { readonly headers: IncomingMessage['headers']; readonly body: Buffer }) {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': headers['content-type'] ?? '' } }).formData();
  const parts: string[] = [];
  let bytes: Buffer | undefined;
  for (const [name, value] of form) {
    if (typeof value === 'string') parts.push(`${name}=${value}`);
    else {
      bytes = Buffer.from(await value.arrayBuffer());
      parts.push(`${name}: ${value.name}, ${value.type}`);
    }
  }
  return { parts, bytes };
}

export interface Taker extends AsyncDisposable {
  readonly gate: TestGateway;
  /** The number of requests for transcription so far. */
  readonly asked: () => number;
}

/** A gateway whose accounts are one server. The server gets each request for transcription before its body is read. */
export async function startTaker(
  take: (request: IncomingMessage, response: ServerResponse) => void,
  config: NonNullable<GatewayOptions['config']> = () => undefined,
): Promise<Taker> {
  let asked = 0;
  const server = createServer((request, response) => {
    request.on('error', () => undefined);
    if (request.url === NATIVE) {
      asked += 1;
      take(request, response);
    } else if (request.url?.endsWith('/models')) response.writeHead(200, { 'content-type': 'application/json' }).end('{"models":[]}');
    else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const gate = await startGateway({
    config: (draft) => {
      for (const account of draft.accounts) account.base_url = `http://127.0.0.1:${port}`;
      config(draft);
    },
  });
  return {
    gate,
    asked: () => asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await gate.close();
    },
  };
}
