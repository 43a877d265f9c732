// Audio uploads of 100 MB: the cost of each compared with a bare proxy, its peak of memory, and the bytes held for each while the account
// reads nothing.
import { type ClientRequest, request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { forgetPeak, peakBytes } from '../accounting.ts';
import { Child } from '../children.ts';
import { cost } from '../cost.ts';
import { GATEWAY, REFERENCE, startReference } from '../relays/crew.ts';
import { startGateway, UPLOAD_KEY } from '../relays/gateway.ts';
import { type Relay, residentOf } from '../relays/relay.ts';
import { alternate, type Measurement } from '../sheet.ts';
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

/** Several uploads run at once, because the memory of a process varies by more than one upload holds. */
export async function stalledUploads({ stage, effort, sheet }: Measurement): Promise<void> {
  const stalled = await withTaker(stage, 'stalled');
  for (let run = 0; run < effort.runs; run++) {
    const relay = await startGateway(stalled);
    // The first upload grows memory that later ones use too, so it is not measured.
    const first = Array.from({ length: STALLED }, () => beginUpload(relay));
    await sleep(SETTLE_MS);
    for (const upload of first) upload.destroy();
    await sleep(SETTLE_MS);
    const before = await residentOf(relay);
    const under = Array.from({ length: STALLED }, () => beginUpload(relay));
    await sleep(SETTLE_MS);
    const after = await residentOf(relay);
    for (const upload of under) upload.destroy();
    await relay.child.stop();
    sheet.add('held per upload', GATEWAY, Math.max(0, after - before) / STALLED / 1_048_576);
  }
}

async function withTaker(stage: Stage, ...mode: readonly string[]): Promise<Stage> {
  const program = fileURLToPath(new URL('../relays/taker.ts', import.meta.url));
  const child = new Child(stage.cores.pinned('upstream', [process.execPath, program, ...mode]));
  const [, port] = await child.line(/^ready (\d+)$/);
  return { ...stage, upstream: { port: Number(port) } };
}

function requestTo({ port }: Relay): ClientRequest {
  const headers = {
    authorization: `Bearer ${UPLOAD_KEY}`,
    'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
    'content-length': HEAD.length + BYTES + TAIL.length,
  };
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

/** Starts an upload that sends as much as the relay reads. */
function beginUpload(relay: Relay): ClientRequest {
  const sent = requestTo(relay).on('error', () => undefined);
  const fill = (): void => {
    while (!sent.destroyed && sent.write(CHUNK));
  };
  sent.on('drain', fill);
  fill();
  return sent;
}
