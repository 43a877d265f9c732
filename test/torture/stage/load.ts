// Load on some lanes: calls one after another until it is stopped. It keeps the answers to clients, and their times.
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { pick } from '../attack.ts';
import type { HttpCall, SocketCall } from '../calls/call.ts';
import { HTTP_CALLS } from '../calls/http-calls.ts';
import { runCall } from '../calls/run-call.ts';
import { runSocketCall } from '../calls/run-socket-call.ts';
import { SOCKET_CALLS } from '../calls/socket-calls.ts';
import { Finding } from '../finding.ts';
import type { Lane } from './lane.ts';
import type { Stage } from './stage.ts';

/** A call that failed. */
export interface LoadFinding {
  /** The time on the monotonic clock. */
  readonly at: number;
  readonly message: string;
  /** The status of an answer over HTTP, if there was one. */
  readonly status: number | undefined;
  /** Whether the gateway can send the request once more, which is not possible for a streamed one. */
  readonly mayRetry: boolean;
}

export interface LoadReport {
  readonly calls: number;
  readonly found: readonly LoadFinding[];
  /** When each request id got its answer. */
  readonly told: ReadonlyMap<string, number>;
}

/** Thrown if an answer is not the complete reply of the call. */
class NotWhole extends Finding {
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Calls that do not take long. */
const CALLS: readonly HttpCall[] = HTTP_CALLS.filter(({ exchanges }) => exchanges < 2);

/** The share of calls on websockets. */
const SOCKETS = 0.2;

/** As many as a machine with two processors can serve. */
export const LOAD_LANES = 4;

export class Load {
  #stopped = false;
  readonly #working: Promise<unknown>;
  readonly #random: SeededRandom;
  readonly #sockets: readonly SocketCall[];
  #calls = 0;
  readonly #found: LoadFinding[] = [];
  readonly #told = new Map<string, number>();

  /** @param sockets the calls on websockets */
  constructor(stage: Stage, random: SeededRandom, sockets: readonly SocketCall[] = SOCKET_CALLS) {
    this.#random = random;
    this.#sockets = sockets;
    this.#working = Promise.all(stage.lanes.slice(0, LOAD_LANES).map((lane) => this.#work(lane)));
  }

  /** The request ids that have got their answers so far. */
  get toldSoFar(): readonly string[] {
    return [...this.#told.keys()];
  }

  async stop(): Promise<LoadReport> {
    this.#stopped = true;
    await this.#working;
    return { calls: this.#calls, found: this.#found, told: this.#told };
  }

  async #ask(lane: Lane, call: HttpCall): Promise<void> {
    const { kind, answer } = await runCall(lane, call);
    if (kind !== 'whole') throw new NotWhole(`${call.name}: ${answer.status} ${answer.body.toString().slice(0, 300)}`, answer.status);
    this.#told.set(answer.headers['x-request-id'] ?? '', performance.now());
  }

  async #work(lane: Lane): Promise<void> {
    while (!this.#stopped) {
      this.#calls += 1;
      let mayRetry = true;
      try {
        if (this.#random.next() < SOCKETS) await framed(lane, pick(this.#sockets, this.#random));
        else {
          const call = pick(CALLS, this.#random);
          mayRetry = call.retry !== 'never';
          await this.#ask(lane, call);
        }
      } catch (thrown) {
        this.#found.push({
          at: performance.now(),
          message: thrown instanceof Error ? thrown.message : String(thrown),
          status: thrown instanceof NotWhole ? thrown.status : undefined,
          mayRetry,
        });
        // Pauses, because a gateway that is down refuses at once.
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
  }
}

async function framed(lane: Lane, call: SocketCall): Promise<void> {
  const turns = await runSocketCall(lane, call);
  const last = turns.at(-1)?.frames.at(-1);
  const isWhole = turns.length === call.frames.length && last?.type === 'response.completed';
  if (!isWhole)
    throw new Finding(`${call.name}: ${turns.map(({ end, code }) => `${end} ${code ?? ''}`)}, at the end ${JSON.stringify(last)}`);
}
