// The reply rules in isolation: the exposed model, filled outputs, usage, agent events and the closing error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Rule } from '../../../proxy/turn/rules/rule.ts';
import type { Event } from '../../../proxy/turn/turn.ts';
import { agentEvents } from '../../../rules/reply/agent-events.ts';
import { closingError } from '../../../rules/reply/closing-error.ts';
import { fillOutput } from '../../../rules/reply/fill-output.ts';
import { publicModel } from '../../../rules/reply/public-model.ts';
import { usage } from '../../../rules/reply/usage.ts';
import { frozen, phase, run, type TurnOptions, turnOf } from '../../support/turns/turn.ts';
import { FILLED, USAGE } from './reply.cases.ts';

const options: TurnOptions = { kind: 'public-responses' };

const eventOf = (type: string, more: JsonObject = {}): Event => frozen({ type, data: { type, ...more } });

/** The answer after one rule, with the memory of a new turn. */
async function answered(
  rule: Rule,
  response: JsonObject,
  body: JsonObject = {},
): Promise<{ answer: JsonObject | undefined; noted: object }> {
  const ran = await run([rule], body, options);
  return { answer: ran.rules.answer(frozen(response)), noted: ran.turn.noted };
}

for (const phase of ['created', 'queued', 'in_progress', 'completed', 'incomplete', 'failed']) {
  test(`[Q15] response.${phase} has the exposed model id`, async () => {
    const ran = await run([publicModel], {}, options);
    const [event] = ran.event(
      eventOf(`response.${phase}`, { sequence_number: 3, response: { id: 'resp_1', model: 'theirs', error: null } }),
    );
    assert.deepEqual(event?.data, {
      type: `response.${phase}`,
      sequence_number: 3,
      response: { id: 'resp_1', model: 'model-a', error: null },
    });
  });
}

test('[Q15] an event that has it already, or has no response, is the same object', async () => {
  const ran = await run([publicModel], {}, options);
  for (const response of [{ model: 'model-a' }, null, 'x', [1]]) {
    const event = eventOf('response.completed', { response });
    assert.equal(ran.event(event)[0], event);
  }
  const bare = eventOf('response.completed');
  assert.equal(ran.event(bare)[0], bare);
});

test('[Q15] a provider that leaves the model out gets it filled in', async () => {
  const ran = await run([publicModel], {}, options);
  assert.deepEqual(ran.event(eventOf('response.created', { response: { id: 'r' } }))[0]?.data.response, { id: 'r', model: 'model-a' });
});

test('[Q15] a collected answer has the exposed model id', async () => {
  assert.deepEqual((await answered(publicModel, { id: 'r', model: 'theirs' })).answer, { id: 'r', model: 'model-a' });
});

for (const { name, items, output, filled } of FILLED) {
  const response: JsonObject = output === undefined ? { id: 'r' } : { id: 'r', output };
  test(`${name}, in a stream`, async () => {
    const ran = await run([fillOutput], {}, options);
    for (const item of items) ran.event(eventOf('response.output_item.done', item));
    const [event] = ran.event(eventOf('response.completed', { response }));
    assert.deepEqual(event?.data.response, { ...response, ...(filled === undefined ? {} : { output: filled }) });
  });

  test(`${name}, in a collected answer`, async () => {
    const ran = await run([fillOutput], {}, options);
    for (const item of items) ran.event(eventOf('response.output_item.done', item));
    assert.deepEqual(ran.rules.answer(response).output, filled ?? output);
  });
}

test('[Q15] finished items are forwarded as they came', async () => {
  const ran = await run([fillOutput], {}, options);
  const event = eventOf('response.output_item.done', { output_index: 0, item: { type: 'message' } });
  assert.equal(ran.event(event)[0], event);
});

test('[Q15] items of an earlier attempt are not part of the reply', async () => {
  const ran = await run([fillOutput], {}, options);
  ran.event(eventOf('response.output_item.done', { output_index: 0, item: { id: 'old' } }));
  ran.event(eventOf('response.created', { response: { id: 'r' } }));
  const event = eventOf('response.completed', { response: { output: [] } });
  assert.equal(ran.event(event)[0], event);
});

test('[Q15] an incomplete response is filled too, a failed one is not', () => {
  assert.ok(fillOutput.events?.includes('response.incomplete'));
  assert.ok(!fillOutput.events?.includes('response.failed'));
});

for (const { name, body, response, noted } of USAGE) {
  test(`${name}, from a terminal event`, async () => {
    for (const type of ['response.completed', 'response.incomplete', 'response.failed']) {
      const ran = await run([usage], body, options);
      const event = eventOf(type, { response });
      assert.equal(ran.event(event)[0], event);
      assert.deepEqual(ran.turn.noted, noted);
    }
  });
}

for (const { name, body, response, noted } of USAGE) {
  if (typeof response !== 'object' || response === null || Array.isArray(response)) continue;
  test(`${name}, from a collected answer`, async () => {
    const result = await answered(usage, response as JsonObject, body);
    assert.equal(result.answer, response);
    assert.deepEqual(result.noted, noted);
  });
}

test('[Q15] events of the agent family do not reach the public surface', async () => {
  assert.deepEqual(agentEvents.routes, ['public-responses', 'public-compact']);
  const { rules } = await run([agentEvents], {}, options);
  assert.equal(rules.wants('agent.rate_limits'), true);
  assert.deepEqual(rules.event(eventOf('agent.rate_limits')), []);
});

test('[F1.8] a reply that broke off after visible output ends with one server_error', () => {
  const closing = phase(closingError, 'end')({ kind: 'cut', shown: true }, undefined, turnOf(options));
  const [refusal] = closing ?? [];
  assert.equal(closing?.length, 1);
  assert.ok(refusal && 'status' in refusal);
  assert.deepEqual([refusal.status, refusal.code, refusal.error.type, refusal.error.param], [502, 'server_error', 'server_error', null]);
});

test('[F1.8] other ends, and a cut before anything was shown, get nothing added', () => {
  for (const kind of ['completed', 'incomplete', 'failed', 'client_gone', 'refused'] as const) {
    assert.equal(phase(closingError, 'end')({ kind, shown: true }, undefined, turnOf(options)), undefined);
  }
  assert.equal(phase(closingError, 'end')({ kind: 'cut', shown: false }, undefined, turnOf(options)), undefined);
});

test('[Q17] nothing is added to a native stream', () => {
  for (const rule of [closingError, publicModel, fillOutput, agentEvents]) assert.ok(!rule.routes.includes('responses'));
});

test('hostile terminal events throw nothing', async () => {
  const values: Json[] = [null, 0, 'x', [], {}, { output: 5 }, { usage: [] }, { usage: { input_tokens: {}, input_tokens_details: 3 } }];
  const ran = await run([publicModel, fillOutput, usage], {}, options);
  for (const value of values) {
    for (const type of ['response.created', 'response.output_item.done', 'response.completed']) {
      assert.equal(ran.event(eventOf(type, { response: value, item: value, output_index: value })).length, 1);
    }
  }
});
