// Start-time fair queueing in isolation: shares by weight, joining, leaving, and members that are skipped.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FairOrder } from '../../proxy/admission/fair-order.ts';

/** Makes members that are named by one letter, each with numbered turns. */
function world() {
  const order = new FairOrder<Set<string>>();
  let turns = 0;
  return {
    order,
    add: (name: string, count = 1, weight = 1): Set<string> => {
      const member = order.join(name, weight, () => new Set());
      for (let i = 0; i < count; i++) member.add(`${name}${turns++}`);
      return member;
    },
    /** Serves turns, and returns the letters of their members. */
    serve: (count: number, without = ''): string => {
      let served = '';
      for (let i = 0; i < count; i++) {
        order.serveNext((member) => {
          const [turn] = member;
          if (turn === undefined || without.includes(turn.charAt(0))) return false;
          member.delete(turn);
          served += turn.charAt(0);
          return true;
        });
      }
      return served;
    },
  };
}

test('members with waiting turns alternate, however many turns each has', () => {
  const { add, serve } = world();
  add('a', 50);
  add('b', 3);
  assert.equal(serve(8), 'abababaa');
});

test('a member that begins to wait is served before one that was just served', () => {
  const { add, serve } = world();
  add('a', 50);
  assert.equal(serve(20), 'a'.repeat(20));
  add('b', 1);
  assert.equal(serve(3), 'baa');
});

test('a member that leaves and comes back at once gets no second turn in the same round', () => {
  const { add, serve } = world();
  add('a', 50);
  let served = '';
  for (let i = 0; i < 10; i++) {
    add('b', 1);
    served += serve(2);
  }
  assert.equal([...served].filter((name) => name === 'b').length, 10);
});

test('the time in which a member did not wait is no credit', () => {
  const { add, serve } = world();
  add('a', 50);
  add('b', 1);
  serve(40);
  add('b', 20);
  assert.equal(serve(6), 'bababa');
});

test('members share by weight', () => {
  const { add, serve } = world();
  add('a', 100, 3);
  add('b', 100, 1);
  add('c', 100, 0.5);
  const served = serve(90);
  assert.deepEqual(
    ['a', 'b', 'c'].map((name) => [...served].filter((one) => one === name).length),
    [60, 20, 10],
  );
});

test('a turn that leaves does not reduce the share of its member', () => {
  const { add, serve } = world();
  const gone = add('a', 50);
  add('b', 50);
  gone.clear();
  assert.equal(serve(4), 'bbbb');
  add('a', 2);
  assert.equal(serve(4), 'abab');
});

test('a member that was passed over is served first once, and then shares again', () => {
  const { add, serve } = world();
  add('a', 50);
  add('b', 50);
  assert.equal(serve(10, 'a'), 'b'.repeat(10));
  assert.equal(serve(5), 'ababa');
});

test('members that wait no longer are forgotten', () => {
  const { order, add, serve } = world();
  for (let i = 0; i < 26; i++) add(String.fromCharCode(97 + i), 1);
  assert.equal(serve(26), 'abcdefghijklmnopqrstuvwxyz');
  assert.equal(order.size, 0);
  add('a', 3);
  serve(3);
  let made = 0;
  order.join('b', 1, () => {
    made += 1;
    return new Set();
  });
  assert.equal(made, 1);
});
