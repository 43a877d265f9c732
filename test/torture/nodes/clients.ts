// Clients of the nodes. Each sends one call after another through a simulated load balancer, and keeps the answers, until it is stopped.
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { pick } from '../attack.ts';
import { type Call, drawCall, type Outcome, runCall } from './calls.ts';
import type { Life, Member, Span } from './member.ts';

/** The answer to a client's call, and the process that sent it. */
export interface Told {
  readonly call: Call;
  /** Undefined for a call that had not ended at its deadline. */
  readonly outcome: Outcome | undefined;
  readonly span: Span;
  /** The processes that the client connected to. */
  readonly lives: readonly Life[];
  readonly members: readonly Member[];
}

/** Longer than all waits of a turn together: for a slot, for the database, for a token. The time of a paused node does not count. */
const PATIENCE_MS = 60_000;
const LOOK_MS = 1_000;
/** The longest pause between two calls of a client. */
const MOST_THOUGHT_MS = 2_400;
/** The pause while no node is available. */
const NO_NODE_MS = 50;

export class Clients {
  readonly told: Told[] = [];
  readonly #members: readonly Member[];
  readonly #working: Promise<unknown>;
  #calls: number;
  #stopped = false;

  /** @param firstCall the number of the first call; numbers are used once */
  constructor(
    members: readonly Member[],
    { count, seed, firstCall }: { readonly count: number; readonly seed: number; readonly firstCall: number },
  ) {
    this.#members = members;
    this.#calls = firstCall;
    this.#working = Promise.all(Array.from({ length: count }, (_, i) => this.#work(new SeededRandom(seed + i * 7_919))));
  }

  /** Resolves when every client has its last answer. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#working;
  }

  async #work(random: SeededRandom): Promise<void> {
    await sleep(random.between(0, MOST_THOUGHT_MS));
    while (!this.#stopped) {
      if (this.#serving.length === 0) await sleep(NO_NODE_MS);
      else {
        this.told.push(await this.call(drawCall(this.#calls++, random), random));
        if (!this.#stopped) await sleep(random.between(0, MOST_THOUGHT_MS));
      }
    }
  }

  get #serving(): readonly Member[] {
    return this.#members.filter(({ isServing }) => isServing);
  }

  async call(call: Call, random: SeededRandom): Promise<Told> {
    const members: Member[] = [];
    const lives: Life[] = [];
    const route = (): Life => {
      // If no node is available, a client that reconnects goes to the last one.
      const member = pick(this.#serving.length > 0 ? this.#serving : this.#members, random);
      members.push(member);
      lives.push(member.life);
      return member.life;
    };
    const from = performance.now();
    const late = new AbortController();
    const waited = (): number => {
      const span = { from, to: performance.now() };
      return span.to - from - members.reduce((sum, member) => sum + member.pausedWithin(span), 0);
    };
    const watch = setInterval(() => waited() > PATIENCE_MS && late.abort(), LOOK_MS);
    const outcome = await runCall(call, route, late.signal);
    clearInterval(watch);
    return { call, outcome: late.signal.aborted ? undefined : outcome, span: { from, to: performance.now() }, lives, members };
  }
}
