// A call of our own to an account: one small JSON answer, bounded in size and time.
import type { Headers } from '../turn/turn.ts';
import type { Carrier, CarrierRequest } from './carrier.ts';

export interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The decoded JSON; undefined where the body was none. */
  readonly body: unknown;
}

export interface CallBounds {
  readonly bytes: number;
  readonly ms: number;
}

/** @throws Error when no answer came, it was too large, or it took too long */
export function call(carrier: Carrier, request: CarrierRequest, bounds: CallBounds): Promise<CallAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let head: Pick<CallAnswer, 'status' | 'headers'> | undefined;
    const deadline = setTimeout(() => {
      sending.abort();
      fail('timeout');
    }, bounds.ms);
    const fail = (why: string): void => {
      clearTimeout(deadline);
      reject(new Error(why));
    };
    const sending = carrier.send(request, {
      head: (status, headers) => {
        head = { status, headers };
      },
      data: (chunk) => {
        bytes += chunk.length;
        chunks.push(chunk);
        if (bytes <= bounds.bytes) return;
        sending.abort();
        fail('answer too large');
      },
      end: () => {
        clearTimeout(deadline);
        if (head) resolve({ ...head, body: decoded(Buffer.concat(chunks, bytes)) });
      },
      fail,
    });
  });
}

function decoded(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
