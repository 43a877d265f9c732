// Finalises a file at its account. The request is repeated until the account has processed the file (Q21).
import { isObject, type JsonObject } from '../turn/json/json.ts';
import type { ProviderFiles } from '../turn/provider/reads.ts';
import type { CallAnswer, CallBounds } from '../upstream/call.ts';
import type { Destination } from '../upstream/credentials/own-calls.ts';

const PAUSE_MS = 250;
const LONGEST_MS = 30_000;
const ANSWER_BYTES = 65_536;

export interface FinalisationOptions {
  /** Sends a request of the gateway's own to an account. */
  readonly post: (to: Destination, path: string, body: JsonObject, bounds: CallBounds) => Promise<CallAnswer>;
}

export interface Finalising {
  readonly to: Destination;
  /** The path of the request that ends the upload. */
  readonly path: string;
  readonly finalisedOf: NonNullable<ProviderFiles['upload']>['finalisedOf'];
  readonly clock: { now(): number; after(ms: number, run: () => void): () => void };
  readonly signal: AbortSignal;
}

/** The account's last answer. Its status is `retry` if the time is over. */
export class Finalisation {
  readonly #options: FinalisationOptions;

  constructor(options: FinalisationOptions) {
    this.#options = options;
  }

  /**
   * @param first the answer that the account has given already
   * @throws Error if the account does not answer with a JSON object and a success status, or if the signal aborts
   */
  async finalise({ to, path, finalisedOf, clock, signal }: Finalising, first?: JsonObject): Promise<JsonObject> {
    const end = clock.now() + LONGEST_MS;
    let answer = first;
    for (;;) {
      if (answer) {
        if (finalisedOf(answer) !== 'retry' || clock.now() + PAUSE_MS > end) return answer;
        await pause(clock, signal);
      }
      const bounds = { bytes: ANSWER_BYTES, ms: to.upstream.timeouts.firstByteMs, signal };
      const { status, body } = await this.#options.post(to, path, {}, bounds);
      if (status < 200 || status >= 300 || !isObject(body)) throw new Error(`finalising: status ${status}`);
      answer = body;
    }
  }
}

/** @throws the signal's reason */
function pause(clock: Finalising['clock'], signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const aborted = (): void => {
      cancel();
      reject(signal.reason as Error);
    };
    const cancel = clock.after(PAUSE_MS, () => {
      signal.removeEventListener('abort', aborted);
      resolve();
    });
    signal.addEventListener('abort', aborted, { once: true });
  });
}
