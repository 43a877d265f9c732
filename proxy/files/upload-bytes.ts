// Sends the bytes of a file to the address that its account named. It follows no redirect.
import type { LookupFunction } from 'node:net';
import type { EgressRoute } from '../upstream/egress/route.ts';
import type { UploadTarget } from './upload-target.ts';

export interface UploadBytes {
  readonly bytes: Buffer;
  /** The media type of the file. */
  readonly type: string;
  readonly connectMs: number;
  /** The time limit of the whole exchange. */
  readonly ms: number;
  readonly signal: AbortSignal;
  /** Undefined for a direct connection. */
  readonly route?: EgressRoute | undefined;
}

/** @returns the status @throws Error if no answer came; its name is `TimeoutError` if the time limit passed */
export async function uploadBytes({ url, addresses }: UploadTarget, options: UploadBytes): Promise<number> {
  // Loaded with the first file, so that it does not delay the start.
  const { Agent, request } = await import('undici');
  const { bytes, type, connectMs, ms, signal, route } = options;
  const [first] = addresses;
  const lookup: LookupFunction = (_host, { all }, done) => {
    if (all === true) done(null, [...addresses]);
    else done(null, first?.address ?? '', first?.family);
  };
  const connect = route?.undici(connectMs) ?? { timeout: connectMs };
  // Each upload has its own connection, because the host differs between providers and is rarely used twice.
  const agent = new Agent({
    allowH2: false,
    connect: typeof connect === 'function' ? connect : { ...connect, lookup },
    headersTimeout: ms,
    bodyTimeout: ms,
  });
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: agent,
      method: 'PUT',
      // One popular storage service requires the last header for every upload, and others ignore it.
      headers: { 'content-type': type, 'content-length': String(bytes.length), 'x-ms-blob-type': 'BlockBlob' },
      body: bytes,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ms)]),
    });
    body.on('error', () => undefined).destroy();
    return statusCode;
  } finally {
    void agent.destroy();
  }
}
