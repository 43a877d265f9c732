// One turn through the phases of its rules: their order, their memories, and the effect of one rule's failure on the others.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlicedWork } from '../../../proxy/base/process/slices.ts';
import type { StreamedPart } from '../../../proxy/turn/json/form.ts';
import { asList } from '../../../proxy/turn/json/json.ts';
import { type Rule, SKIP } from '../../../proxy/turn/rules/rule.ts';
import type { Body } from '../../../proxy/turn/turn.ts';
import { ACCOUNT, chainOf } from '../../support/turns/turn.ts';
import { ACME, event, named } from '../named-rules.ts';

test('every end runs, last rule first, even if another one threw; the errors are reported', async () => {
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
  const chain = chainOf(
    [
      ending('first', () => [event('closing')]),
      ending('second', () => {
        throw boom;
      }),
      ending('third', () => undefined),
    ],
    ACME,
  );
  await chain.request({ body: {} });
  const closing = chain.end({ kind: 'completed', shown: true }, (thrown) => void faults.push(thrown));
  assert.deepEqual(ran, ['third', 'second', 'first']);
  assert.deepEqual(closing, [event('closing')]);
  assert.deepEqual(faults, [boom]);
});

/** A rule that has every phase after `request`, and records which ones ran. */
function recorder(request: NonNullable<Rule['request']>): { readonly rule: Rule; readonly ran: string[] } {
  const ran: string[] = [];
  const mark = (phase: string, memory: unknown): undefined => void ran.push(memory === undefined ? phase : `${phase} with ${memory}`);
  return {
    ran,
    rule: named('recorder', {
      request,
      edit: (_work, memory) => mark('edit', memory),
      attempt: (_out, memory) => mark('attempt', memory),
      head: (_head, memory) => mark('head', memory),
      refused: (_refusal, memory) => mark('refused', memory),
      events: ['response.completed'],
      event: (one, memory) => {
        mark('event', memory);
        return one;
      },
      answer: (response, memory) => {
        mark('answer', memory);
        return response;
      },
      end: (_outcome, memory) => mark('end', memory),
    }),
  };
}

for (const [title, request, expected] of [
  ['a request phase that returns nothing loses none of the later phases', () => undefined, (phase: string) => phase],
  ['what a request phase returns is the memory of each later phase', () => 'memory', (phase: string) => `${phase} with memory`],
  ['what a request phase resolves to is the memory of each later phase', async () => 'late', (phase: string) => `${phase} with late`],
  ['SKIP ends a rule’s part in the turn', () => SKIP, undefined],
] as const) {
  test(title, async () => {
    const { rule: recording, ran } = recorder(request);
    const chain = chainOf([recording], ACME);
    await chain.request({ body: {} });
    await chain.edit({ body: {} });
    assert.equal(chain.wants('response.completed'), expected !== undefined);
    chain.attempt({ account: ACCOUNT, api: 'agent', carrier: 'http', path: '/', headers: {}, body: {} });
    chain.head({ status: 200, headers: {} });
    chain.refused({ status: 400, code: null, param: null });
    chain.event(event('response.completed'));
    chain.answer({});
    chain.end({ kind: 'completed', shown: true }, () => assert.fail());
    assert.deepEqual(ran, expected ? ['edit', 'attempt', 'head', 'refused', 'event', 'answer', 'end'].map(expected) : []);
  });
}

test('a rule whose request phase never ran has no later phases; one without a request phase has them', () => {
  const { rule: recording, ran } = recorder(() => 'memory');
  const seen: string[] = [];
  const always = named('always', { attempt: ({ path }) => void seen.push(path) });
  const chain = chainOf([recording, always], ACME);
  chain.attempt({ account: ACCOUNT, api: 'agent', carrier: 'http', path: '/piped', headers: {}, body: {} });
  assert.deepEqual([ran, seen], [[], ['/piped']]);
});

test('the last rule maps an event first; the other rules get no event that it drops, and all events that it splits one into', async () => {
  const seen: string[] = [];
  const chain = chainOf(
    [
      named('first', {
        events: '*',
        event: (one) => {
          seen.push(one.type);
          return one;
        },
      }),
      named('last', {
        events: ['response.created', 'response.queued'],
        event: (one) => (one.type === 'response.created' ? null : [event('a'), event('b')]),
      }),
    ],
    ACME,
  );
  await chain.request({ body: {} });
  assert.deepEqual(chain.event(event('response.created')), []);
  assert.deepEqual(chain.event(event('response.queued')), [event('a'), event('b')]);
  const same = event('other');
  assert.equal(chain.event(same), same, 'the same object: forwarded as it came');
  assert.deepEqual(seen, ['a', 'b', 'other']);
});

test('a promise in a request or edit phase is awaited, the phases run in order, and all edits after all requests', async () => {
  const order: number[] = [];
  const chain = chainOf(
    [
      named('slow', {
        request: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          order.push(1);
        },
        edit: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          order.push(3);
        },
      }),
      named('quick', { request: () => void order.push(2), edit: () => void order.push(4) }),
    ],
    ACME,
  );
  await chain.request({ body: {} });
  assert.deepEqual(order, [1, 2]);
  await chain.edit({ body: {} });
  assert.deepEqual(order, [1, 2, 3, 4]);
});

test('the parts of a form go down the list, and so do those that a rule adds or holds back to the end', () => {
  const part = (name: string, value = ''): StreamedPart => ({ kind: 'field', name, value });
  const seen: string[] = [];
  const tells = named('tells', {
    parts: () => ({
      part: (one) => {
        seen.push(one.name);
        return [one];
      },
    }),
  });
  const adds = named('adds', {
    parts: () => ({ part: (one) => (one.name === 'drop' ? [] : [part('before'), one]), end: () => [part('last')] }),
  });
  const reader = chainOf([adds, tells, named('without parts', {})], ACME).parts();
  const names = (parts: readonly StreamedPart[]): readonly string[] => parts.map(({ name }) => name);
  assert.deepEqual(names(reader.part(part('a'))), ['before', 'a']);
  assert.deepEqual(names(reader.part(part('drop'))), []);
  assert.deepEqual(names(reader.end()), ['last']);
  assert.deepEqual(seen, ['before', 'a', 'last']);
});

test('[Q38] the loop turns between the rules of a large body, and each rule has its memory and the body as it was left', async (context) => {
  let [turns, isOver] = [0, false];
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  context.after(() => {
    isOver = true;
  });
  const at: number[] = [];
  const walk = (): void => {
    at.push(turns);
    // This takes longer than a slice.
    for (const end = performance.now() + 2; performance.now() < end; );
  };
  const walker = (name: string): Rule =>
    named(name, {
      request: ({ body }) => {
        walk();
        body.seen = [...asList(body.seen), name];
        return name;
      },
      edit: ({ body }, memory) => {
        walk();
        body.edited = [...asList(body.edited), memory as string];
      },
    });
  const rules = ['first', 'second', 'third'].map(walker);
  const work = { body: {} as Body };
  const large = chainOf(rules, { ...ACME, large: new SlicedWork('ci') });
  await large.request(work);
  await large.edit(work);
  assert.deepEqual(work.body, { seen: ['first', 'second', 'third'], edited: ['first', 'second', 'third'] });
  assert.equal(new Set(at).size, at.length, `turns of the loop: ${at.join(' ')}`);
  const small = chainOf(rules, ACME);
  assert.deepEqual([small.request({ body: {} }), small.edit({ body: {} })], [undefined, undefined], 'others do not wait');
});
