// A request as it arrived at an account.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Json } from '../turn/json.ts';
import type { Closing } from './play.ts';

export interface ArrivedRequest {
  /** The account that it was sent to. */
  readonly account: string;
  /** Counted from 1 over all accounts of the provider. */
  readonly number: number;
  /** Counted from 1 over the turns of this account; 0 for what is no turn. */
  readonly turn: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  /** Without its question mark. */
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  /** The parsed body; undefined where it is no JSON. */
  readonly json: Json | undefined;
  /** False when the client left before it had sent its body. */
  readonly isComplete: boolean;
  /** Resolves once the answer is over, whichever way. */
  readonly closed: Promise<Closing>;
}

/** Reads the body to its end, or as far as it comes. */
export function readBody(request: IncomingMessage): Promise<{ readonly body: Buffer; readonly isComplete: boolean }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve({ body: Buffer.concat(chunks), isComplete: true }));
    request.on('error', () => resolve({ body: Buffer.concat(chunks), isComplete: false }));
  });
}

export function parsedOf(body: Buffer): Json | undefined {
  if (body.length === 0) return undefined;
  try {
    return JSON.parse(body.toString()) as Json;
  } catch {
    return undefined;
  }
}
