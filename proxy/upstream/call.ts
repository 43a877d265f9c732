// A request of the gateway's own to an account: one small JSON answer, bounded in size and time.
import { GatheredBytes } from '../base/bytes/gathered-bytes.ts';
import { IdleTimeouts, Timed } from '../base/time/idle-timeouts.ts';
import { parsedJson } from '../turn/json/json.ts';
import { excessOf } from '../turn/json/json-bounds.ts';
import type { Headers } from '../turn/turn.ts';
import type { CarrierRequest, TurnCarrier } from './carriers/carrier.ts';

export interface CallAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The decoded JSON; undefined if the body was not JSON. */
  readonly body: unknown;
  /** The size of the body. */
  readonly bytes: number;
}

export interface CallBounds {
  readonly bytes: number;
  readonly ms: number;
  /** Ends the request early. */
  readonly signal?: AbortSignal;
}

/** @throws Error if no answer came, it was too large, it took too long (the error's name is then `TimeoutError`), or the signal aborted */
export function call(carrier: TurnCarrier, request: CarrierRequest, bounds: CallBounds): Promise<CallAnswer> {
  return new Promise((resolve, reject) => {
    const chunks = new GatheredBytes();
    let head: Pick<CallAnswer, 'status' | 'headers'> | undefined;
    const deadline = new Deadline(() => {
      sending.abort();
      fail('timeout', 'TimeoutError');
    });
    new IdleTimeouts(bounds.ms).watch(deadline);
    const aborted = (): void => {
      sending.abort();
      fail('aborted');
    };
    const over = (): void => {
      deadline.endWait();
      bounds.signal?.removeEventListener('abort', aborted);
    };
    const fail = (why: string, name = 'Error'): void => {
      over();
      reject(Object.assign(new Error(why), { name }));
    };
    const data = (chunk: Buffer): void => {
      chunks.add(chunk);
      if (chunks.length <= bounds.bytes) return;
      sending.abort();
      fail('answer too large');
    };
    const end = (): void => {
      over();
      const body = chunks.take();
      if (head) resolve({ ...head, body: decoded(body), bytes: body.length });
    };
    const sending = carrier.send(request, {
      head: (status, headers) => {
        head = { status, headers };
        return { reads: 'bytes', data, end, fail: (why) => fail(why) };
      },
      fail: (why) => fail(why, why === 'first_byte' ? 'TimeoutError' : 'Error'),
    });
    if (bounds.signal?.aborted) aborted();
    else bounds.signal?.addEventListener('abort', aborted);
  });
}

/**
 * A deadline that counts ticks, so that a pause of the process does not count. An answer may have arrived during the pause. A second
 * request could be useless, because a refresh token is used up by its first use (Q34).
 */
class Deadline extends Timed {
  readonly timedOut: () => void;

  constructor(timedOut: () => void) {
    super();
    this.timedOut = timedOut;
  }
}

/** The most values of an answer. No catalog and no usage answer has as many. */
const MAX_VALUES = 1_000_000;

function decoded(bytes: Buffer): unknown {
  return excessOf(bytes, MAX_VALUES) ? undefined : parsedJson(bytes.toString('utf8'));
}
