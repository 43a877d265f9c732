// A gateway for tests of files: two accounts in order, a second Pool, and an upload service whose behaviour a test decides.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf, type Part } from '../form.ts';
import { type Draft, type GatewayOptions, KEY, type Reply, startGateway, type TestGateway } from '../gateway.ts';

export const OTHER_POOL_KEY = 'pg-files-other-pool';
export const BYTES = Buffer.from('the bytes of a file');

const FILE: Part = { name: 'file', filename: 'notes.txt', type: 'text/plain', value: BYTES };
const PURPOSE: Part = { name: 'purpose', value: 'user_data' };
export const UPLOAD: readonly Part[] = [FILE, PURPOSE];

/** The machine's clock, on which pauses of the gateway end at once. */
const IMPATIENT = {
  now: systemClock.now,
  wallTime: systemClock.wallTime,
  after: (ms: number, run: () => void) => systemClock.after(ms === 250 ? 0 : ms, run),
};

export function startFiles(options: GatewayOptions = {}): Promise<TestGateway> {
  return startGateway({
    clock: IMPATIENT,
    ...options,
    config: (draft: Draft) => {
      draft.pools.push({ ...structuredClone(draft.pools[0]), id: 'other', label: 'Other' });
      draft.keys.push({ id: 'third', pool: 'other', secret_sha256: [hash('sha256', OTHER_POOL_KEY, 'hex')] });
      options.config?.(draft);
    },
  });
}

/** Sends `POST /v1/files` with these parts. */
export function upload(gate: TestGateway, parts: readonly Part[] = UPLOAD, key = KEY): Promise<Reply> {
  return sendBytes(gate, '/v1/files', formOf(parts), { 'content-type': FORM_TYPE, authorization: `Bearer ${key}` });
}

/** Uploads a file to the first account. @returns its id */
export async function uploadedId(gate: TestGateway): Promise<string> {
  const { status, json, text } = await upload(gate);
  assert.equal(status, 200, text);
  return json.id;
}

/** Uploads a file to south, while north is unreachable. @returns its id */
export async function uploadedToSouth(gate: TestGateway): Promise<string> {
  await gate.upstream.hangUp('north');
  const id = await uploadedId(gate);
  await gate.upstream.pickUp('north');
  gate.heal();
  return id;
}

export async function sendBytes(gate: TestGateway, path: string, body: Buffer, headers: Record<string, string>): Promise<Reply> {
  return gate.send(path, { body, headers });
}

export const asking = (part: JsonObject): JsonObject => ({ role: 'user', content: [{ type: 'input_text', text: 'read' }, part] });

export interface UploadService extends AsyncDisposable {
  readonly url: string;
  readonly seen: readonly { readonly method: string; readonly headers: IncomingMessage['headers']; readonly body: Buffer }[];
}

/** @param answer gets the request before its body is read */
export async function uploadService(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<UploadService> {
  const seen: { method: string; headers: IncomingMessage['headers']; body: Buffer }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => undefined);
    request.on('end', () => seen.push({ method: request.method ?? '', headers: request.headers, body: Buffer.concat(chunks) }));
    answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
