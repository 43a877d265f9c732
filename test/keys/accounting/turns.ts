// The turns of a run: planned, sent by whatever kind of client, and entered in the books once they have left their rows.
import assert from 'node:assert/strict';
import type { Dice } from '../../rules/dialect/bodies.ts';
import { until } from '../../support/until.ts';
import { type Entry, entryOf } from './books.ts';
import type { Delivery } from './deliveries.ts';
import { type Asked, type Door, inputEstimate } from './doors.ts';
import { KEYS, type KeyName, markOf, nanoPrices, type Planned, type Stage, TEXT_MODELS } from './stage.ts';

/** A planned turn, with what its settlement depends on. */
export interface Turn {
  readonly planned: Planned;
  readonly door: Door;
  readonly key: KeyName;
  readonly asked: Asked;
  /** Unix milliseconds. */
  readonly begins: number;
}

/** Without a longer history, twice the mean of short outputs is less (Q19). */
const LEAST_OUTPUT_TOKENS = 2_048;

export class Turns {
  readonly stage: Stage;
  readonly dice: Dice;
  readonly entries: Entry[] = [];
  /** At all accounts. */
  attempts = 0;
  #ids = 0;
  #unsettled: Turn[] = [];

  constructor(stage: Stage, dice: Dice) {
    this.stage = stage;
    this.dice = dice;
  }

  /** A turn with a prompt of its own; planned, not sent. @param model any by default */
  plan(door: Door, key: KeyName, deliveries: (id: number) => readonly Delivery[], model: string = this.dice.pick(TEXT_MODELS)): Turn {
    const { dice } = this;
    const id = ++this.#ids;
    const any = door.parts === 'any';
    const prompt = {
      text: markOf(id) + dice.pick(['', 'hello', 'ß', '😀 "quoted"\n', 'x'.repeat(401)]),
      image: door.parts === 'one image' || (any && dice.roll() < 0.2),
      audio: any && dice.roll() < 0.2,
    };
    const asked = { prompt, model, cap: dice.pick([200, 500, 2_000, 100_000]) };
    const turn = { planned: this.stage.plan(id, deliveries(id)), door, key, asked, begins: this.stage.clock.now() };
    this.#unsettled.push(turn);
    return turn;
  }

  /** Waits until every turn that reached an account has left its row, and enters what that account delivered. */
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

/** What follows from the last attempt that arrived. */
function enteredAt(at: number, { planned, door, key, asked, begins }: Turn): Entry {
  const { pool } = KEYS[key];
  const model = door.model(asked, pool);
  const delivery = planned.attempts[Math.min(planned.arrived, planned.attempts.length) - 1];
  assert.ok(delivery);
  return entryOf({
    key,
    pool,
    model,
    hosted: door.hosted,
    settled: delivery.settled,
    inputEstimate: door.metered ? inputEstimate(asked.prompt) : undefined,
    reservedOutput: reservedOutput(asked),
    reserves: key === 'limited',
    prices: nanoPrices(pool, model),
    begins,
    at,
  });
}
