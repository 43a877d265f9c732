// A turn's passage through its rules: who is heard, in which order, and what one rule's failure does to the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Chain, RuleRun } from '../../proxy/turn/rule-chain.ts';
import type { Event, Turn } from '../../proxy/turn/turn.ts';
import { type Rule, rule } from '../../rules/rule.ts';

const TURN = { wire: { agent: 'agent', meter: 'meter', lite_marker: 'x-marker' } } as unknown as Turn;
const passage = (...rules: Rule[]): RuleRun => new RuleRun(new Chain(rules, 'responses'), TURN);
const named = (name: string, rest: Omit<Rule, 'name' | 'routes'>): Rule => rule({ name, routes: '*', ...rest });
const event = (type: string): Event => ({ type, data: { type } });

test('every end runs, last rule first, whatever another one threw; what threw is told', async () => {
  const ran: string[] = [];
  const faults: unknown[] = [];
  const ending = (name: string, end: Rule['end']): Rule =>
    named(name, {
      end: (...parts) => {
        ran.push(name);
        return end?.(...parts);
      },
    });
  const boom = new Error('boom');
  const through = passage(
    ending('first', () => [event('closing')]),
    ending('second', () => {
      throw boom;
    }),
    ending('third', () => undefined),
  );
  await through.request({ body: {} });
  const closing = through.end({ kind: 'completed', shown: true }, (thrown) => void faults.push(thrown));
  assert.deepEqual(ran, ['third', 'second', 'first']);
  assert.deepEqual(closing, [event('closing')]);
  assert.deepEqual(faults, [boom]);
});

test('a rule that returned no memory is not heard of again, and one without a request phase always is', async () => {
  const through = passage(
    named('bored', { request: () => undefined, events: ['a'], event: () => assert.fail('it is not interested') }),
    named('always', { events: ['a'], event: (seen) => ({ ...seen, data: { ...seen.data, seen: true } }) }),
  );
  await through.request({ body: {} });
  assert.equal(through.wants('a'), true);
  assert.equal(through.wants('b'), false);
  assert.deepEqual(through.event(event('a')), { type: 'a', data: { type: 'a', seen: true } });
});

test('the last rule maps an event first; what it drops no other rule sees, and what it splits each other rule sees', async () => {
  const seen: string[] = [];
  const through = passage(
    named('first', {
      events: '*',
      event: (one) => {
        seen.push(one.type);
        return one;
      },
    }),
    named('last', {
      events: ['drop', 'split'],
      event: (one) => (one.type === 'drop' ? null : [event('a'), event('b')]),
    }),
  );
  await through.request({ body: {} });
  assert.deepEqual(through.event(event('drop')), []);
  assert.deepEqual(through.event(event('split')), [event('a'), event('b')]);
  const same = event('other');
  assert.equal(through.event(same), same, 'the very same object: forwarded as it came');
  assert.deepEqual(seen, ['a', 'b', 'other']);
});

test('a promise in a request phase is waited for, and the phases run in order', async () => {
  const order: number[] = [];
  const through = passage(
    named('slow', {
      request: async () => {
        await new Promise((resolve) => setImmediate(resolve));
        order.push(1);
        return undefined;
      },
    }),
    named('quick', {
      request: () => {
        order.push(2);
        return undefined;
      },
    }),
  );
  await through.request({ body: {} });
  assert.deepEqual(order, [1, 2]);
});
