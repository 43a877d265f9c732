// The queue of reservations of a key: few at a time, in order, and a refusal answers those that waited before it was asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReservationQueue } from '../../proxy/keys/reservation-queue.ts';
import { HandClock, settled } from '../models/support.ts';

/** Results are words; `no` answers all that wait, but those that are small. */
class Desk {
  readonly clock = new HandClock();
  readonly asked: string[] = [];
  readonly results = new Map<string, string>();
  readonly #queue = new ReservationQueue<string>(this.clock);
  readonly #open = new Map<string, (result: string) => void>();

  ask(name: string, key = 'ci'): void {
    const asking = {
      key,
      ask: () => {
        this.asked.push(name);
        return new Promise<string>((resolve) => this.#open.set(name, resolve));
      },
      answeredBy: (other: string) => (other === 'no' && !name.startsWith('small') ? 'no, as another' : undefined),
      late: 'late',
    };
    void this.#queue.ask(asking).then((result) => this.results.set(name, result));
  }

  async answer(name: string, result: string): Promise<void> {
    this.#open.get(name)?.(result);
    await settled();
  }
}

test('two reservations of a key are asked for at a time, in order, whatever other keys do', async () => {
  const desk = new Desk();
  for (const name of ['a', 'b', 'c', 'd']) desk.ask(name);
  desk.ask('other', 'another');
  assert.deepEqual(desk.asked, ['a', 'b', 'other']);
  await desk.answer('b', 'yes');
  assert.deepEqual(desk.asked, ['a', 'b', 'other', 'c']);
  await desk.answer('a', 'yes');
  for (const name of ['c', 'd', 'other']) await desk.answer(name, 'yes');
  assert.deepEqual([...desk.results.keys()].sort(), ['a', 'b', 'c', 'd', 'other']);
  desk.ask('e');
  assert.deepEqual(desk.asked.at(-1), 'e');
});

test('a refusal answers what waited before it was asked for, as far as it holds for it', async () => {
  const desk = new Desk();
  for (const name of ['a', 'b', 'c', 'd', 'small', 'e']) desk.ask(name);
  await desk.answer('a', 'no');
  assert.deepEqual([...desk.results], [['a', 'no']], 'the others came after it was asked for');
  desk.ask('after');
  await desk.answer('c', 'no');
  assert.deepEqual(
    [...desk.results],
    [
      ['a', 'no'],
      ['d', 'no, as another'],
      ['e', 'no, as another'],
      ['c', 'no'],
    ],
  );
  assert.deepEqual(desk.asked, ['a', 'b', 'c', 'small']);
  await desk.answer('small', 'yes');
  assert.deepEqual(desk.asked, ['a', 'b', 'c', 'small', 'after']);
});

test('a reservation that waits for two seconds is late, and is not asked for any more', async () => {
  const desk = new Desk();
  for (const name of ['a', 'b', 'c']) desk.ask(name);
  await desk.clock.advance(2_000);
  assert.deepEqual([...desk.results], [['c', 'late']]);
  await desk.answer('a', 'yes');
  assert.deepEqual(desk.asked, ['a', 'b']);
  assert.equal(desk.clock.pending, 0);
});
