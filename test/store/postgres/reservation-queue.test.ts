// The queue of turns that reserve: turns that arrive together and waiting turns share a statement, a key is in one running statement at a time, and no turn waits forever.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { ReservationQueue } from '../../../store/postgres/limits/reservation-queue.ts';
import type { Taken } from '../../../store/schema/limit-rows.ts';
import { limitedTurn } from '../samples.ts';

/** Sends statements that wait to be answered; turns are named by their grant. */
class Desk {
  readonly sent: string[][] = [];
  readonly results = new Map<string, string>();
  readonly #answers: PromiseWithResolvers<readonly Taken[]>[] = [];
  readonly #queue = new ReservationQueue((turns) => {
    this.sent.push(turns.map(({ turn }) => turn.grant));
    const answer = Promise.withResolvers<readonly Taken[]>();
    this.#answers.push(answer);
    return answer.promise;
  });

  /** Asks for turns that arrive together. */
  ask(key: string, ...grants: readonly string[]): Promise<void> {
    return this.askWithin(2_000, key, ...grants);
  }

  async askWithin(wait_ms: number, key: string, ...grants: readonly string[]): Promise<void> {
    for (const grant of grants) {
      const taking = this.#queue.take({ turn: limitedTurn({ node: 1, key, grant, wait_ms }), bounds: {} });
      taking.then(
        ({ outcome }) => this.results.set(grant, outcome),
        (error: Error) => this.results.set(grant, error.message),
      );
    }
    await settled();
  }

  async answer(send: number, outcome: 'granted' | 'lost'): Promise<void> {
    this.#answers[send]?.resolve((this.sent[send] ?? []).map(() => ({ outcome })));
    await gathered();
  }

  async fail(send: number, message: string): Promise<void> {
    this.#answers[send]?.reject(new Error(message));
    await gathered();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets the time pass in which turns are gathered for the next statement. */
async function gathered(): Promise<void> {
  await settled();
  mock.timers.tick(2);
  await settled();
}
const numbered = (name: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${name}${i}`);

beforeEach(() => mock.timers.enable({ apis: ['setTimeout', 'setInterval'] }));
afterEach(() => mock.timers.reset());

test('turns of a key that arrive while one is being sent are sent together after it, in their order', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await desk.ask('ci', 'b');
  await desk.ask('ci', 'c', 'd');
  assert.deepEqual(desk.sent, [['a']]);
  await desk.answer(0, 'granted');
  assert.deepEqual(desk.sent, [['a'], ['b', 'c', 'd']]);
  await desk.answer(1, 'lost');
  assert.deepEqual(
    [...desk.results],
    [
      ['a', 'granted'],
      ['b', 'lost'],
      ['c', 'lost'],
      ['d', 'lost'],
    ],
  );
  await desk.ask('ci', 'e');
  assert.deepEqual(desk.sent.at(-1), ['e']);
});

test('turns that arrive together are sent together', async () => {
  const desk = new Desk();
  void desk.ask('ci', 'a', 'b');
  await desk.ask('other', 'c');
  assert.deepEqual(desk.sent, [['a', 'b', 'c']]);
});

test('turns that arrive within two milliseconds after a statement are gathered for the next one', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await desk.ask('other', 'b');
  await desk.ask('third', 'c');
  assert.deepEqual(desk.sent, [['a']]);
  mock.timers.tick(2);
  assert.deepEqual(desk.sent, [['a'], ['b', 'c']]);
});

test('two statements are sent at a time, and waiting turns of all other keys share the next one', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await gathered();
  await desk.ask('other', 'c');
  await desk.ask('ci', 'b');
  await desk.ask('other', 'd');
  await desk.ask('third', 'e');
  assert.deepEqual(desk.sent, [['a'], ['c']]);
  await desk.answer(1, 'granted');
  assert.deepEqual(desk.sent, [['a'], ['c'], ['d', 'e']]);
  await desk.answer(0, 'granted');
  assert.deepEqual(desk.sent, [['a'], ['c'], ['d', 'e'], ['b']]);
});

test('a send has at most 64 turns of a key, and 256 in all', async () => {
  const desk = new Desk();
  await desk.ask('first', 'a');
  await gathered();
  await desk.ask('second', 'b');
  const keys = ['busy', 'one', 'two', 'three', 'four'];
  for (const key of keys) await desk.ask(key, ...numbered(key, key === 'busy' ? 100 : 64));
  await desk.answer(0, 'granted');
  assert.deepEqual(
    desk.sent[2],
    ['busy', 'one', 'two', 'three'].flatMap((key) => numbered(key, 64)),
  );
  await desk.answer(1, 'granted');
  assert.deepEqual(desk.sent[3], numbered('four', 64), 'the rest of a key waits for its answer');
  await desk.answer(2, 'granted');
  assert.deepEqual(desk.sent[4], numbered('busy', 100).slice(64));
});

test('where nothing could be sent, each turn gets the reason, and the next ones are sent', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await desk.ask('ci', 'b', 'c');
  await desk.answer(0, 'granted');
  await desk.ask('ci', 'd');
  await desk.fail(1, 'unreachable');
  await desk.answer(2, 'granted');
  assert.deepEqual([...desk.results.values()], ['granted', 'unreachable', 'unreachable', 'granted']);
});

test('a turn that waits for two seconds is refused, and is not sent', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await desk.ask('ci', 'b');
  mock.timers.tick(1_999);
  await desk.ask('ci', 'c');
  await settled();
  assert.equal(desk.results.size, 0);
  mock.timers.tick(1);
  await settled();
  assert.equal(desk.results.get('b'), 'PostgreSQL: the reservation waited too long');
  await desk.answer(0, 'granted');
  assert.deepEqual(desk.sent, [['a'], ['c']]);
  assert.deepEqual([...desk.results.keys()], ['a', 'b'], 'the third one waits for its answer');
});

test('the wait before the statement counts: a turn that waited for a second has one second for its answer', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await desk.ask('ci', 'b', 'c');
  mock.timers.tick(1_000);
  await desk.answer(0, 'granted');
  assert.deepEqual(desk.sent, [['a'], ['b', 'c']]);
  mock.timers.tick(996);
  await settled();
  assert.deepEqual([...desk.results], [['a', 'granted']]);
  mock.timers.tick(2);
  await settled();
  assert.deepEqual(desk.results.get('b'), 'unknown', 'the reservation may be made all the same');
  assert.deepEqual(desk.results.get('c'), 'unknown');
  await desk.answer(1, 'granted');
  assert.deepEqual(desk.results.get('b'), 'unknown');
});

test('a further try of a turn waits for the rest of its time', async () => {
  const desk = new Desk();
  await desk.ask('ci', 'a');
  await desk.askWithin(700, 'ci', 'b');
  await desk.ask('ci', 'c');
  mock.timers.tick(500);
  await settled();
  assert.deepEqual([...desk.results], [['b', 'PostgreSQL: the reservation waited too long']]);
  await desk.answer(0, 'granted');
  assert.deepEqual(desk.sent, [['a'], ['c']]);
});
