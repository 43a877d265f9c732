// An account that counts its simultaneous turns, and ends each turn on request or after a given time.
import { type RawUpstream, rawHead, startRawUpstream } from '../../support/network/raw-upstream.ts';
import { until } from '../../support/until.ts';

const HEAD = rawHead(200, { 'content-type': 'text/event-stream', connection: 'close' });
const COMPLETED = {
  type: 'response.completed',
  sequence_number: 0,
  response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 1 } },
};
const BODY = `event: response.completed\ndata: ${JSON.stringify(COMPLETED)}\n\n`;

export class CountingProvider {
  readonly rawUpstream: RawUpstream;
  /** The most turns at the same time. */
  peak = 0;
  /** The duration of the n-th turn; undefined means until `end`. */
  lasts: (turn: number) => number | undefined = () => undefined;
  readonly #running = new Set<() => void>();
  #turns = 0;

  private constructor(rawUpstream: RawUpstream) {
    this.rawUpstream = rawUpstream;
  }

  static async start(): Promise<CountingProvider> {
    const rawUpstream = await startRawUpstream((socket) => provider.#begin(socket));
    const provider: CountingProvider = new CountingProvider(rawUpstream);
    return provider;
  }

  get running(): number {
    return this.#running.size;
  }

  /** The number of turns so far. */
  get turns(): number {
    return this.#turns;
  }

  /** Ends the oldest turns. */
  end(count = this.#running.size): void {
    for (const end of [...this.#running].slice(0, count)) end();
  }

  async has(count: number): Promise<void> {
    await until(`${count} turns at the provider (${this.running} are there)`, () => (this.running === count ? true : undefined));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.rawUpstream[Symbol.asyncDispose]();
  }

  #begin(socket: Parameters<Parameters<typeof startRawUpstream>[0]>[0]): void {
    const end = (): void => {
      if (this.#running.delete(end)) socket.end(HEAD + BODY);
    };
    socket.once('close', () => this.#running.delete(end));
    this.#running.add(end);
    this.peak = Math.max(this.peak, this.#running.size);
    this.#turns += 1;
    const ms = this.lasts(this.#turns);
    if (ms !== undefined) setTimeout(end, ms);
  }
}
