// A request of the gateway's own to an account: one small JSON answer, bounded in size and time.
import type { Headers } from '../turn/turn.ts';
import type { CarrierRequest, TurnCarrier } from './carrier.ts';

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
export function call(carrier: TurnCarrier, request: CarrierRequest, bounds: CallBounds): Promise<CallAnswer> {
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
    const data = (chunk: Buffer): void => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= bounds.bytes) return;
      sending.abort();
      fail('answer too large');
    };
    const end = (): void => {
      clearTimeout(deadline);
      if (head) resolve({ ...head, body: decoded(Buffer.concat(chunks, bytes)) });
    };
    const sending = carrier.send(request, {
      head: (status, headers) => {
        head = { status, headers };
        return { reads: 'bytes', data, end, fail };
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
