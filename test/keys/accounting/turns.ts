// The turns of a run: they are planned, sent by each kind of client, and added to the expected usage after they have left their rows.
import assert from 'node:assert/strict';
import type { RandomSource } from '../../rules/dialect/bodies.ts';
import { until } from '../../support/until.ts';
import { type Asked, type ClientRoute, inputEstimate } from './client-routes.ts';
import type { Delivery } from './deliveries.ts';
import { type Entry, entryOf } from './expected-usage.ts';
import { KEYS, type KeyName, markOf, nanoPrices, type Planned, type Stage, TEXT_MODELS } from './stage.ts';

/** A planned turn, with the values on which its settlement depends. */
export interface Turn {
  readonly planned: Planned;
  readonly route: ClientRoute;
  readonly key: KeyName;
  readonly asked: Asked;
  /** Unix milliseconds. */
  readonly begins: number;
}

/** Without a longer history the gateway reserves at least this, because twice the mean of short outputs is less (Q19). */
const LEAST_OUTPUT_TOKENS = 2_048;

export class Turns {
  readonly stage: Stage;
  readonly random: RandomSource;
  readonly entries: Entry[] = [];
  /** The number of attempts at all accounts. */
  attempts = 0;
  #ids = 0;
  #unsettled: Turn[] = [];

  constructor(stage: Stage, random: RandomSource) {
    this.stage = stage;
    this.random = random;
  }

  /** Plans a turn with its own prompt, without sending it. @param model any model by default */
  plan(
    route: ClientRoute,
    key: KeyName,
    deliveries: (id: number) => readonly Delivery[],
    model: string = this.random.pick(TEXT_MODELS),
  ): Turn {
    const { random } = this;
    const id = ++this.#ids;
    const any = route.parts === 'any';
    const prompt = {
      text: markOf(id) + random.pick(['', 'hello', 'ß', '😀 "quoted"\n', 'x'.repeat(401)]),
      image: route.parts === 'one image' || (any && random.roll() < 0.2),
      audio: any && random.roll() < 0.2,
    };
    const asked = { prompt, model, cap: random.pick([200, 500, 2_000, 100_000]) };
    const turn = { planned: this.stage.plan(id, deliveries(id)), route, key, asked, begins: this.stage.clock.now() };
    this.#unsettled.push(turn);
    return turn;
  }

  /** Waits until every turn that reached an account has left its row, and adds what the account delivered to the expected usage. */
  async settle(): Promise<void> {
    const dispatched = this.#unsettled.filter(({ planned }) => planned.arrived > 0);
    const expected = this.entries.length + dispatched.length;
    await until(`${expected} rows`, async () => ((await this.rows()).length >= expected ? true : undefined));
    this.attempts += dispatched.reduce((sum, { planned }) => sum + planned.arrived, 0);
    this.entries.push(...dispatched.map((turn) => enteredAt(this.stage.clock.now(), turn)));
    this.#unsettled = [];
  }

  /** The request rows of turns that reached an account. */
  async rows() {
    return (await this.stage.gate.rows()).filter(({ account }) => account !== null);
  }
}

/** The output that a turn reserves. */
export const reservedOutput = ({ cap }: Asked): number => Math.min(cap, LEAST_OUTPUT_TOKENS);

/** The entry that follows from the last attempt that reached an account. */
function enteredAt(at: number, { planned, route, key, asked, begins }: Turn): Entry {
  const { pool } = KEYS[key];
  const model = route.model(asked, pool);
  const delivery = planned.attempts[Math.min(planned.arrived, planned.attempts.length) - 1];
  assert.ok(delivery);
  return entryOf({
    key,
    pool,
    model,
    hosted: route.hosted,
    usesNoTokens: route.usesNoTokens === true,
    settled: delivery.settled,
    inputEstimate: route.metered ? inputEstimate(asked.prompt) : undefined,
    reservedOutput: reservedOutput(asked),
    reserves: key === 'limited',
    prices: nanoPrices(pool, model),
    begins,
    at,
  });
}
