// Embeddings: a route that an operator has to enable, for models of API accounts (AA78 to AA81).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { answers, type Platform, refuses } from '../../../providers/responses/platform.ts';
import { type ResponsesStage, responsesStage } from '../../../providers/responses/responses-stage.ts';
import { type Reply, startGateway, type TestGateway } from '../../../support/gateway.ts';

let stage: ResponsesStage;
let platform: Platform;
let gate: TestGateway;
before(async () => {
  stage = await responsesStage({
    others: ['north'],
    account: {
      id: 'platform',
      label: 'PLATFORM',
      preset: 'openai',
      credential: { bearer: { env: 'BEARER_PLATFORM' } },
      models: { 'model-p': 'own-a', 'embed-x': 'embed-a' },
      catalog: [
        { id: 'own-a', context_window: 100_000 },
        { id: 'embed-a', kind: 'embedding' },
      ],
    },
    config(draft) {
      draft.routes = [
        { POST: '/v1/embeddings', status: 'supported', serve: 'embeddings' },
        { POST: '/v1/responses', status: 'translated', serve: 'public-responses', to: '/backend-api/agent/responses', class: 'stream' },
        { GET: '/v1/models', status: 'supported', serve: 'models' },
        { GET: '/backend-api/agent/models', status: 'supported', serve: 'catalog' },
      ];
    },
  });
  ({ gate, platform } = stage);
});
after(() => stage.close());
beforeEach(() => stage.clear());

const VECTORS = '[{"object":"embedding","index":0,"embedding":[1e-3, -0.0, 0.10]},{"object":"embedding","index":1,"embedding":[2.50,"}"]}]';
const ANSWER = `{"object":"list","data":${VECTORS},"model":"embed-a","usage":{"prompt_tokens":5,"total_tokens":5},"extra":1}`;

const embed = (members: Readonly<Record<string, unknown>>): Promise<Reply> =>
  gate.send('/v1/embeddings', { body: { model: 'embed-x', input: ['a', 'b'], ...members } });

test('[AA80] [AA81] the body passes with the own id, and the vectors of the answer byte for byte', async () => {
  platform.next.push(answers(200, ANSWER));
  const reply = await embed({ dimensions: 2, encoding_format: 'float', user: 'someone' });
  assert.equal(reply.status, 200, reply.text);
  assert.equal(reply.text, `{"object":"list","data":${VECTORS},"model":"embed-x","usage":{"prompt_tokens":5,"total_tokens":5}}`);
  const [request] = platform.requests;
  assert.equal(request?.path, '/v1/embeddings');
  assert.deepEqual(request?.json, { model: 'embed-a', input: ['a', 'b'], dimensions: 2, encoding_format: 'float' });
  const row = await gate.row(reply);
  assert.deepEqual([row?.account, row?.model, row?.input_tokens, row?.output_tokens], ['PLATFORM', 'embed-x', 5, 0]);
});

test('[AA80] without a stated usage the estimate settles, marked', async () => {
  platform.next.push(answers(200, ANSWER.replace(/"usage":\{[^}]*\},/, '')));
  const reply = await embed({ input: [[1, 2, 3], [4]] });
  assert.equal(reply.status, 200, reply.text);
  const row = await gate.row(reply);
  assert.deepEqual([row?.input_tokens, row?.tokens_estimated], [4, true]);
});

test('[AA81] another number of vectors than of inputs is no answer', async () => {
  platform.next.push(answers(200, ANSWER));
  const reply = await embed({ input: ['a', 'b', 'c'] });
  assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error']);
});

for (const [what, members, code, param] of [
  ['a model of turns alone', { model: 'model-a' }, 'invalid_model', 'model'],
  ['no model', { model: undefined }, 'invalid_model', 'model'],
  ['no input', { input: undefined }, 'invalid_request', 'input'],
  ['an empty list', { input: [] }, 'invalid_request', 'input'],
  ['too many inputs', { input: Array.from({ length: 2_049 }, () => 'a') }, 'invalid_request', 'input'],
  ['a mixed list', { input: ['a', [1]] }, 'invalid_request', 'input.1'],
  ['an unknown format', { encoding_format: 'int8' }, 'invalid_request', 'encoding_format'],
  ['another parameter', { stream: true }, 'unsupported_parameter', 'stream'],
] as const) {
  test(`[AA79] ${what} is refused`, async () => {
    const reply = await embed(members);
    assert.deepEqual([reply.status, reply.json.error.code, reply.json.error.param], [400, code, param], reply.text);
    assert.equal(platform.requests.length, 0);
  });
}

test('[AA79] an embedding model takes no turns, and is in /v1/models alone', async () => {
  const turn = await gate.send('/v1/responses', { body: { model: 'embed-x', input: 'hi' } });
  assert.deepEqual([turn.status, turn.json.error.code], [400, 'invalid_model']);
  const listed = async (path: string): Promise<string> => (await gate.send(path)).text;
  assert.ok((await listed('/v1/models')).includes('embed-x'));
  assert.ok(!(await listed('/backend-api/agent/models')).includes('embed-x'));
});

test('[AA80] a refusal before the answer has the form that it has on other routes', async () => {
  platform.next.push(refuses(400, { message: 'Too long.', param: 'input', code: 'invalid_value' }));
  const reply = await embed({});
  assert.deepEqual([reply.status, reply.json.error.param], [400, 'input'], reply.text);
});

test('[AA78] the shipped row is unsupported', async () => {
  await using shipped = await startGateway({ upstream: { accounts: ['north'] } });
  const reply = await shipped.send('/v1/embeddings', { body: { model: 'embed-x', input: 'a' } });
  assert.deepEqual([reply.status, reply.json.error.code], [404, 'unsupported_endpoint']);
});
