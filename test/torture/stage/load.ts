// Load on some lanes: calls one after the other, until it is stopped; keeps what clients were told, and when.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { pick } from '../attack.ts';
import type { HttpCall } from '../calls/call.ts';
import { HTTP_CALLS } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { Finding } from '../finding.ts';
import type { Lane } from './lane.ts';
import type { Stage } from './stage.ts';

export interface LoadReport {
  readonly calls: number;
  /** What went wrong, and when, on the monotonic clock. */
  readonly found: readonly { readonly at: number; readonly message: string }[];
  /** When each request id was told its answer. */
  readonly told: ReadonlyMap<string, number>;
}

/** Without those that take long. */
const CALLS: readonly HttpCall[] = HTTP_CALLS.filter(({ exchanges }) => exchanges < 2);

/** As many as a machine with two processors can serve. */
export const LOAD_LANES = 4;

export class Load {
  #stopped = false;
  readonly #working: Promise<unknown>;
  readonly #random: SeededRandom;
  #calls = 0;
  readonly #found: { at: number; message: string }[] = [];
  readonly #told = new Map<string, number>();

  constructor(stage: Stage, random: SeededRandom) {
    this.#random = random;
    this.#working = Promise.all(stage.lanes.slice(0, LOAD_LANES).map((lane) => this.#work(lane)));
  }

  async stop(): Promise<LoadReport> {
    this.#stopped = true;
    await this.#working;
    return { calls: this.#calls, found: this.#found, told: this.#told };
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#stopped) {
      this.#calls += 1;
      const call = pick(CALLS, this.#random);
      try {
        const { kind, answer } = await runCall(lane, call);
        if (kind !== 'whole') throw new Finding(`${call.name}: ${answer.status} ${answer.body.toString().slice(0, 300)}`);
        this.#told.set(answer.headers['x-request-id'] ?? '', performance.now());
      } catch (thrown) {
        this.#found.push({ at: performance.now(), message: thrown instanceof Error ? thrown.message : String(thrown) });
        // A gateway that is down refuses at once.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}
