// Runs the tables of compaction, and checks answers and attempts that need no gateway.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Refusal } from '../../../proxy/turn/errors/refusal.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { RouteKind } from '../../../proxy/turn/routes/kinds.ts';
import { compactionAnswer } from '../../../rules/compaction/compaction-answer.ts';
import { compactionProjection } from '../../../rules/compaction/compaction-projection.ts';
import { compactionReplay } from '../../../rules/compaction/compaction-replay.ts';
import { compactionTrigger } from '../../../rules/compaction/compaction-trigger.ts';
import { refusalBy, run } from '../../support/turns/turn.ts';
import { asks, testCases } from '../tools/case.ts';
import { MISPLACED_TRIGGERS, REPLAYS } from './compaction.cases.ts';

testCases(
  [compactionTrigger],
  MISPLACED_TRIGGERS.map((row) => ({ ...row, kind: 'public-compact' })),
);
testCases([compactionReplay], REPLAYS);

const USER: JsonObject = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] };
const TRIGGER: JsonObject = { type: 'compaction_trigger' };
const SEALED: JsonObject = { type: 'compaction', encrypted_content: 'gAAAA-sealed' };

test('[F3.1] a trigger after visible input is taken out: what the account gets in its place depends on the account', async () => {
  const { body } = await run([compactionTrigger], asks({ input: [USER, TRIGGER] }), { kind: 'public-compact' });
  assert.deepEqual(body.input, [USER]);
});

test('[F3.5] an anchor is not found over HTTP, and on a websocket the live socket decides', async () => {
  const body = asks({ input: [USER, TRIGGER], previous_response_id: 'resp_1' });
  const refusal = await refusalBy([compactionTrigger], body, { kind: 'public-compact' });
  assert.deepEqual([refusal?.code, refusal?.error.param], ['previous_response_not_found', 'previous_response_id']);
  assert.equal(await refusalBy([compactionTrigger], body, { kind: 'public-compact', client: 'websocket' }), undefined);
});

describe('[Q27] an attempt', () => {
  const ordinary = { include: ['reasoning.encrypted_content'], max_output_tokens: 9, stream: true, store: true, tools: [] };

  test('of a public compaction has the members that the compact path accepts, and no others', async () => {
    const ran = await run([compactionProjection], asks(ordinary), { kind: 'public-compact' });
    const { path, body } = ran.attempt();
    assert.equal(path, '/backend-api/agent/responses/compact');
    assert.deepEqual(body, asks({ tools: [] }));
  });

  test('of a native compaction passes as its client wrote it', async () => {
    const ran = await run([compactionProjection], asks(ordinary), { kind: 'compact' });
    assert.deepEqual(ran.attempt().body, asks(ordinary));
  });

  for (const kind of ['compact', 'public-compact'] satisfies RouteKind[]) {
    test(`of ${kind} ends in a trigger where the account is configured for it, or on a websocket`, async () => {
      const ran = await run([compactionProjection], asks(ordinary), { kind });
      for (const out of [ran.attempt({ compact: 'trigger' }), ran.attempt({}, 'websocket')]) {
        assert.equal(out.path, '/backend-api/agent/responses');
        assert.deepEqual(out.body, asks({ ...ordinary, input: [USER, TRIGGER], stream: true, store: false }));
      }
    });
  }

  for (const [what, input, sent] of [
    ['a string becomes the user’s message', 'hi', [USER, TRIGGER]],
    ['a trigger of the client’s is the one trigger', [USER, TRIGGER], [USER, TRIGGER]],
    ['no input leaves the trigger alone', null, [TRIGGER]],
  ] as const) {
    test(`with a trigger: ${what}`, async () => {
      const ran = await run([compactionProjection], asks({ input }), { kind: 'compact' });
      assert.deepEqual(ran.attempt({ compact: 'trigger' }).body.input, sent);
    });
  }
});

describe('an answer', () => {
  const judged = async (kind: RouteKind, response: JsonObject): Promise<JsonObject> =>
    (await run([compactionAnswer], asks({}), { kind })).rules.answer(response);

  test('[F3.2] of a public compaction is a completed Responses object around the one item', async () => {
    const answer = await judged('public-compact', { id: 'resp_9', created_at: 5, output: [USER, SEALED], usage: { input_tokens: 1 } });
    const { id, object, status, output, usage, model, created_at, completed_at } = answer;
    assert.deepEqual(
      { id, object, status, output, usage, model, created_at, completed_at },
      {
        id: 'resp_9',
        object: 'response',
        status: 'completed',
        output: [SEALED],
        usage: { input_tokens: 1 },
        model: 'model-a',
        created_at: 5,
        completed_at: 5,
      },
    );
  });

  test('[F3.2] has an id and a time of its own where the account states none', async () => {
    const { id, created_at } = await judged('public-compact', { output: [SEALED] });
    assert.deepEqual([id, created_at], ['resp_test', 0]);
  });

  for (const [what, id, shown] of [
    ['absent', {}, {}],
    ['null', { id: null }, { id: null }],
    ['a string', { id: 'cmp_1' }, { id: 'cmp_1' }],
    ['of another type', { id: 7 }, {}],
  ] as const) {
    test(`[F3.3] an id that is ${what} is answered so that the item can be replayed`, async () => {
      const { output } = await judged('public-compact', { output: [{ ...SEALED, ...id, created_by: 'someone' }] });
      assert.deepEqual(output, [{ ...shown, ...SEALED }]);
    });
  }

  test('[Q27] of the compact path is passed to native clients as it came', async () => {
    const answer = { output: [USER, { ...SEALED, odd: 1 }], odd: 2 };
    assert.equal(await judged('compact', answer), answer);
  });

  test('[Q27] of a turn is converted into the answer of the compact path', async () => {
    const reasoning = { type: 'reasoning', summary: [] };
    const response = {
      id: 'resp_9',
      object: 'response',
      created_at: 5,
      status: 'completed',
      output: [reasoning, SEALED],
      usage: null,
      tools: [],
    };
    assert.deepEqual(await judged('compact', response), {
      id: 'resp_9',
      object: 'response.compaction',
      created_at: 5,
      output: [SEALED],
      usage: null,
    });
  });

  for (const kind of ['compact', 'public-compact'] satisfies RouteKind[]) {
    for (const [what, response] of [
      ['no output', {}],
      ['output that is no list', { output: { 0: SEALED } }],
      ['no item', { output: [] }],
      ['another item', { output: [USER] }],
      ['two compactions', { output: [SEALED, SEALED] }],
      ['no content', { output: [{ type: 'compaction' }] }],
      ['blank content', { output: [{ ...SEALED, encrypted_content: ' \n' }] }],
      ['content that is no text', { output: [{ ...SEALED, encrypted_content: { a: 1 } }] }],
      ['null content', { output: [{ ...SEALED, encrypted_content: null }] }],
      ['items that are no objects', { output: [null, 'compaction'] }],
      ['a turn that was cut short', { status: 'incomplete', output: [SEALED] }],
    ] as const) {
      test(`[F3.7] of ${kind} with ${what} is not a compaction`, async () => {
        await assert.rejects(
          judged(kind, response as JsonObject),
          (thrown) => thrown instanceof Refusal && thrown.code === 'invalid_compaction_response',
        );
      });
    }
  }
});
