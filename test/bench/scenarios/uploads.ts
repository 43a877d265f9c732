// Audio uploads of 100 MB: the cost of each compared with a bare proxy, its peak of memory, and the memory of each while the
// account reads nothing, in pieces of several sizes.
import { type ClientRequest, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { forgetPeak, peakBytes } from '../accounting.ts';
import { Child } from '../children.ts';
import { cost } from '../cost.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { GATEWAY, REFERENCE, startReference } from '../relays/crew.ts';
import { startGateway, UPLOAD_KEY } from '../relays/gateway.ts';
import { type Relay, residentOf } from '../relays/relay.ts';
import type { Stage } from '../stage.ts';

const PATH = '/backend-api/transcribe';
const BOUNDARY = 'bench-boundary-0123456789';
const HEAD = Buffer.from(
  `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\nContent-Type: audio/wav\r\n\r\n`,
);
const TAIL = Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
const BYTES = 100_000_000;
const CHUNK = Buffer.alloc(65_536, 'v');
/** Each measurement is the mean of this many uploads. */
const UPLOADS = 3;
const STALLED = 20;
const SETTLE_MS = 1_500;
/** Bytes of the chunks in which a stalled upload is sent. */
export const PIECES = [65_536, 1_024, 1] as const;

export async function uploads({ stage, effort, sheet }: Measurement): Promise<void> {
  const taken = await withTaker(stage);
  const contenders = [
    [GATEWAY, await startGateway(taken)],
    [REFERENCE, await startReference(taken)],
  ] as const;
  for (const [, relay] of contenders) await uploadTo(relay);
  await alternate(effort.runs, contenders, async ([name, relay]) => {
    const before = await residentOf(relay);
    forgetPeak(relay.child.pid);
    const microseconds = await cost(stage, relay, `upload-${name}`, async () => {
      for (let i = 0; i < UPLOADS; i++) await uploadTo(relay);
    });
    sheet.add('cpu per upload', name, microseconds / UPLOADS / 1_000);
    sheet.add('peak of an upload', name, (peakBytes(relay.child.pid) - before) / 1_048_576);
  });
  await Promise.all(contenders.map(([, relay]) => relay.child.stop()));
}

export const peakInPiecesOf = (piece: number): string => `peak per stalled upload in pieces of ${piece}`;

/** Several uploads run at once, because the memory of a process varies by more than one upload holds. */
export async function stalledUploads({ stage, effort, sheet }: Measurement): Promise<void> {
  const stalled = await withTaker(stage, 'stalled');
  for (let run = 0; run < effort.runs; run++) {
    for (const piece of PIECES) {
      const relay = await startGateway(stalled);
      // The first uploads grow memory that later ones use too, so they are not measured.
      await underStalled(relay, piece, async () => undefined);
      await sleep(SETTLE_MS);
      const before = await residentOf(relay);
      forgetPeak(relay.child.pid);
      await underStalled(relay, piece, async () => {
        sheet.add(peakInPiecesOf(piece), GATEWAY, Math.max(0, peakBytes(relay.child.pid) - before) / STALLED / 1_048_576);
        if (piece === PIECES[0])
          sheet.add('held per upload', GATEWAY, Math.max(0, (await residentOf(relay)) - before) / STALLED / 1_048_576);
      });
      await relay.child.stop();
    }
  }
}

async function underStalled(relay: Relay, piece: number, look: () => Promise<void>): Promise<void> {
  const uploads = Array.from({ length: STALLED }, () => beginUpload(relay, piece));
  await sleep(SETTLE_MS);
  await look();
  for (const upload of uploads) upload.destroy();
}

async function withTaker(stage: Stage, ...mode: readonly string[]): Promise<Stage> {
  const program = fileURLToPath(new URL('../relays/taker.ts', import.meta.url));
  const child = new Child(stage.cores.pinned('upstream', [process.execPath, program, ...mode]));
  const [, port] = await child.line(/^ready (\d+)$/);
  return { ...stage, upstream: { port: Number(port) } };
}

const HEADERS = { authorization: `Bearer ${UPLOAD_KEY}`, 'content-type': `multipart/form-data; boundary=${BOUNDARY}` };

function requestTo({ port }: Relay): ClientRequest {
  const headers = { ...HEADERS, 'content-length': HEAD.length + BYTES + TAIL.length };
  const sent = httpRequest({ host: '127.0.0.1', port, method: 'POST', path: PATH, headers, agent: false });
  sent.write(HEAD);
  return sent;
}

async function uploadTo(relay: Relay): Promise<void> {
  const sent = requestTo(relay);
  const answered = new Promise<number>((resolve, reject) => {
    sent.on('response', (response) => resolve(response.resume().statusCode ?? 0)).on('error', reject);
  });
  for (let left = BYTES; left > 0; left -= CHUNK.length) {
    if (!sent.write(CHUNK.subarray(0, left))) await new Promise<void>((resolve) => void sent.once('drain', resolve));
  }
  sent.end(TAIL);
  const status = await answered;
  if (status !== 200) throw new Error(`an upload got ${status}`);
}

/** Starts an upload that sends as much as the relay reads, in chunks of `piece` bytes. */
function beginUpload({ port }: Relay, piece: number): Socket {
  const chunk = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
  const one = chunk(CHUNK.subarray(0, piece));
  const block = Buffer.concat(Array.from({ length: Math.ceil(CHUNK.length / one.length) }, () => one));
  const lines = Object.entries({ host: '127.0.0.1', ...HEADERS, 'transfer-encoding': 'chunked' }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const socket = connect(port, '127.0.0.1').on('error', () => undefined);
  socket.write(`POST ${PATH} HTTP/1.1\r\n${lines.join('')}\r\n`);
  socket.write(chunk(HEAD));
  const fill = (): void => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', fill);
  fill();
  return socket;
}
