// The compiled rules: which rules get which events, and what counts as an error of a rule.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventType } from '../../../proxy/turn/reply/event-types.ts';
import { type Rule, rule } from '../../../proxy/turn/rules/rule.ts';
import { Chains } from '../../../proxy/turn/rules/rule-chain.ts';
import { chainOf } from '../../support/turns/turn.ts';
import { ACME, event, named } from '../named-rules.ts';

const listener = (name: string, ...events: readonly EventType[]): Rule =>
  named(name, { events, event: (one) => ({ ...one, data: { ...one.data, [name]: true } }) });

test('`agent` in a subscription is replaced with the deployment’s word on the wire, and no other text is', () => {
  const chain = chainOf([listener('quota', 'agent.rate_limits')], ACME);
  assert.deepEqual(chain.event(event('acme.rate_limits')), event('acme.rate_limits', { quota: true }));
  for (const type of ['agent.rate_limits', '<agent>.rate_limits', 'rate_limits', 'acme.other', 'acmerate_limits']) {
    assert.equal(chain.wants(type), false, type);
  }
});

test('the family includes every event that begins with the deployment’s word, known or not', () => {
  const chain = chainOf([listener('family', 'agent.*')], ACME);
  for (const type of ['acme.rate_limits', 'acme.response.metadata', 'acme.never.seen']) assert.equal(chain.wants(type), true, type);
  for (const type of ['agent.rate_limits', 'acmex.other', 'acme', 'response.completed']) assert.equal(chain.wants(type), false, type);
});

test('an event of the family reaches the family’s listeners even where another rule names it', () => {
  for (const rules of [
    [listener('family', 'agent.*'), listener('quota', 'agent.rate_limits')],
    [listener('quota', 'agent.rate_limits'), listener('family', 'agent.*')],
  ]) {
    const chain = chainOf(rules, ACME);
    assert.deepEqual(chain.event(event('acme.rate_limits')), event('acme.rate_limits', { family: true, quota: true }));
  }
});

test('a rule that names both the family and one of its events gets that event once', () => {
  const seen: string[] = [];
  const both = named('both', {
    events: ['agent.*', 'agent.rate_limits'],
    event: (one) => {
      seen.push(one.type);
      return one;
    },
  });
  chainOf([both], ACME).event(event('acme.rate_limits'));
  assert.deepEqual(seen, ['acme.rate_limits']);
});

test('a type that no reply event can have is an error when the chain is compiled, and does not compile', () => {
  const compile = (events: Rule['events']): Chains =>
    new Chains([named('misspelt', { events: events ?? [], event: () => null })], ACME.wire);
  for (const type of ['<agent>.rate_limits', 'agent.rate_limit', 'response.complete', 'response.*', 'acme.rate_limits', '']) {
    assert.throws(() => compile([type as EventType]), { message: `rule misspelt: no reply event has the type ${type}` });
  }
  // @ts-expect-error: not an event type
  assert.throws(() => compile(['response.complete']));
  // @ts-expect-error: the word of a deployment is resolved when the chain is compiled
  assert.throws(() => compile(['acme.rate_limits']));
});

test('events without an event phase, and an event phase without events, are errors when the chain is compiled', () => {
  const message = /^Error: rule half: events and event need each other$/;
  assert.throws(() => new Chains([named('half', { events: '*' })], ACME.wire), message);
  assert.throws(() => new Chains([named('half', { event: (one) => one })], ACME.wire), message);
});

test('a rule with a memory cannot forget to return it', () => {
  // @ts-expect-error: a request phase returns the memory or SKIP
  const forgetful = rule<{ readonly count: number }>({ name: 'forgetful', routes: '*', request: () => undefined });
  assert.ok(forgetful);
});
