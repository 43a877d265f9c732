// A request as an account received it, and how it ended.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gunzip, zstdDecompress } from 'node:zlib';
import type { Json } from '../turn/json/json.ts';

/** `answered`: the whole answer was sent. `cut`: a fault ended it, or the provider closed. `left`: the client closed the connection. */
export type RequestEnd = 'answered' | 'cut' | 'left';

export interface ReceivedRequest {
  /** The account that it was sent to. */
  readonly account: string;
  /** The number of the request, counted from 1 over all accounts of the provider. */
  readonly number: number;
  /** The number of the turn, counted from 1 over the account; 0 for a request that is not a turn. */
  readonly turn: number;
  /** The method; `WS` for a frame. */
  readonly method: string;
  /**
   * The number of a frame's websocket, counted from 1 over the account's upgraded connections; 0 for a request over HTTP, and for an
   * upgrade.
   */
  readonly connection: number;
  /** Whether the request asks for a websocket. */
  readonly isUpgrade: boolean;
  /** The path without the query. */
  readonly path: string;
  /** The query without its question mark. */
  readonly query: string;
  /** The headers. A frame has those of its upgrade. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternate, as received. */
  readonly rawHeaders: readonly string[];
  /** The body, decoded if its coding is known; the text of a frame. */
  readonly body: Buffer;
  /** The parsed body; undefined if it is not JSON. */
  readonly json: Json | undefined;
  /** False if the client closed the connection before the end of its body. */
  readonly isComplete: boolean;
  /** Resolves when the exchange is over. */
  readonly closed: Promise<RequestEnd>;
}

/** The codings of request bodies that the backend accepts (RB12). */
const DECODERS: ReadonlyMap<string, (bytes: Buffer) => Promise<Buffer>> = new Map<string, (bytes: Buffer) => Promise<Buffer>>([
  ['zstd', (bytes) => promisify(zstdDecompress)(bytes)],
  ['gzip', (bytes) => promisify(gunzip)(bytes)],
]);

/** Reads the body to its end, or to the point where the client closed the connection, and decodes it if that is possible. */
export async function receivedBody(request: IncomingMessage): Promise<{ readonly body: Buffer; readonly isComplete: boolean }> {
  const arrived = await bytesOf(request);
  const decode = DECODERS.get(request.headers['content-encoding'] ?? '');
  if (decode === undefined || !arrived.isComplete) return arrived;
  return { body: await decode(arrived.body).catch(() => arrived.body), isComplete: true };
}

function bytesOf(request: IncomingMessage): Promise<{ readonly body: Buffer; readonly isComplete: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve({ body: Buffer.concat(chunks), isComplete: true }));
    request.on('error', () => resolve({ body: Buffer.concat(chunks), isComplete: false }));
  });
}
