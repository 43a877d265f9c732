// The signature of a request from one node to another: an HMAC over the request with the nodes' secret, valid for 30 s and for one use
// (Q34).
import { createHmac, createSecretKey, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** The signed parts. None contains a line break: the first three are from the request line or headers, the others are written here. */
export interface HopRequest {
  readonly method: string;
  readonly path: string;
  /** The forwarded client, encoded. */
  readonly client: string;
  /** The id of the node that sends the request. */
  readonly node: string;
}

/** Lower-case names of the headers of a request between nodes. */
export const HOP_HEADER = {
  node: 'x-poolgate-node',
  time: 'x-poolgate-time',
  nonce: 'x-poolgate-nonce',
  client: 'x-poolgate-client',
  signature: 'x-poolgate-signature',
} as const;

/** The largest accepted age of a request, which covers the difference between the clocks and the time on the network. */
const WINDOW_MS = 30_000;

const NONCE_BYTES = 16;
/** The most requests in a window. */
const MOST_NONCES = 100_000;

export class HopSignature {
  readonly #key: KeyObject;
  readonly #now: () => number;
  /** The nonces of accepted requests. They are forgotten after a window of 60 s, when requests with them are too old to be accepted. */
  #nonces = new Set<string>();
  #olderNonces: ReadonlySet<string> = new Set();
  #turnedAt = 0;

  constructor(secret: string, now: () => number) {
    this.#key = createSecretKey(Buffer.from(secret));
    this.#now = now;
  }

  /** The headers of a signed request, and the signature that the answer of a node with the same secret has. */
  sign(request: HopRequest): { readonly headers: Readonly<Record<string, string>>; readonly answer: string } {
    const time = String(this.#now());
    const nonce = randomBytes(NONCE_BYTES).toString('base64url');
    const signature = this.#of(request, time, nonce);
    return {
      headers: {
        [HOP_HEADER.node]: request.node,
        [HOP_HEADER.time]: time,
        [HOP_HEADER.nonce]: nonce,
        [HOP_HEADER.client]: request.client,
        [HOP_HEADER.signature]: signature,
      },
      answer: this.#hmac(['answer', signature]),
    };
  }

  /** Checks a request, once. Undefined if it is not signed with the secret, not of this time, or was accepted before. */
  accept(method: string, path: string, headers: IncomingHttpHeaders): { readonly client: string; readonly answer: string } | undefined {
    const [node, time, nonce, client, signature] = Object.values(HOP_HEADER).map((name) => String(headers[name] ?? ''));
    if (!node || !time || !nonce || !client || !signature) return undefined;
    if (!isEqual(signature, this.#of({ method, path, client, node }, time, nonce))) return undefined;
    if (!(Math.abs(this.#now() - Number(time)) <= WINDOW_MS) || !this.#isNew(nonce)) return undefined;
    return { client, answer: this.#hmac(['answer', signature]) };
  }

  #of({ method, path, client, node }: HopRequest, time: string, nonce: string): string {
    return this.#hmac(['request', method, path, node, time, nonce, client]);
  }

  #hmac(parts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(parts.join('\n')).digest('base64url');
  }

  /** Whether the nonce is new. If there is no room for it, the request is refused, because a repetition could not be recognised. */
  #isNew(nonce: string): boolean {
    const now = this.#now();
    if (Math.abs(now - this.#turnedAt) > 2 * WINDOW_MS) {
      this.#olderNonces = this.#nonces;
      this.#nonces = new Set();
      this.#turnedAt = now;
    }
    if (this.#nonces.has(nonce) || this.#olderNonces.has(nonce) || this.#nonces.size >= MOST_NONCES) return false;
    this.#nonces.add(nonce);
    return true;
  }
}

/** Compares texts, in constant time if their lengths are equal. */
export function isEqual(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}
