// A native session with the words of another vendor: every path, header, event and metadata key uses them, on both sides.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyEvents } from '../../support/rehearsal-replies.ts';

const WIRE = { agent: 'codex', meter: 'wham', lite_marker: 'x-openai-internal-codex-responses-lite', client_version: '0.0.0' };

/** A recorded turn of a native client. */
const recorded = JSON.parse(readFileSync(new URL('../../fixtures/native/full-turn.json', import.meta.url), 'utf8'));

const CLIENT = {
  'x-codex-window-id': '01a1f7fe-e012-72e1-a014-680b536b0694:0',
  'x-codex-turn-metadata': '{"turn":1}',
  'x-agent-window-id': 'neutral words are nobody here',
  'session-id': '01a1f7fe',
  originator: 'codex_exec',
  'user-agent': 'codex_exec/0.169.0',
  [WIRE.lite_marker]: 'true',
};

test('a recorded native session runs under { agent: codex, meter: wham } in Full and in Lite', async () => {
  await using gate = await startGateway({
    upstream: { wire: WIRE },
    config: (draft) => {
      draft.wire = WIRE;
      draft.pools[0].serving_modes = { 'model-b': 'lite', 'model-a': 'full' };
    },
  });
  const list = await gate.send('/backend-api/codex/models?client_version=0.169.0', { headers: CLIENT });
  assert.equal(list.status, 200);
  const own = new Set(['/backend-api/codex/models', '/backend-api/wham/usage']);
  assert.ok(gate.upstream.requests().every(({ path }) => own.has(path)));

  for (const [model, lite] of [
    ['model-a', undefined],
    ['model-b', 'true'],
  ] as const) {
    const body = {
      ...recorded.body,
      model,
      client_metadata: { ...recorded.body.client_metadata, [`ws_request_header_${WIRE.lite_marker.replaceAll('-', '_')}`]: 'true' },
    };
    const reply = await gate.send('/backend-api/codex/responses', { body, headers: CLIENT });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(eventsOf(reply.text).at(-1)?.data.type, 'response.completed');
    const turn = gate.upstream.turns().at(-1);
    assert.equal(turn?.path, '/backend-api/codex/responses');
    assert.equal(turn?.headers[WIRE.lite_marker], lite);
    assert.equal(turn?.headers['x-codex-window-id'], CLIENT['x-codex-window-id']);
    assert.equal(turn?.headers['x-agent-window-id'], undefined);
    assert.equal(turn?.headers['session-id'], undefined);
    assert.ok(!JSON.stringify(turn?.json).includes('ws_request_header_'));
    assert.equal(reply.headers.get('x-models-etag'), list.headers.get('etag'));
    assert.equal(reply.headers.get(WIRE.lite_marker), null);
    assert.match(reply.headers.get('x-codex-primary-used-percent') ?? '', /^\d/);
  }

  // The compatible surface recognises events of the family by this word, and hides them.
  const event = (type: string, more: object = {}) => ({ type, ...more });
  gate.upstream.always('north', 'steady');
  gate.upstream.next(
    'north',
    replyEvents([
      event('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } }),
      event('codex.rate_limits', { plan_type: 'pro' }),
      event('response.output_text.delta', { delta: 'hi' }),
      event('codex.response.metadata', { headers: {} }),
      event('agent.unknown', { note: 'no family of this deployment' }),
      event('response.completed', { response: { id: 'resp_1', status: 'completed', model: 'x', output: [] } }),
    ]),
  );
  gate.upstream.next('south', 'refuse 503');
  const open = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', stream: true } });
  const types = eventsOf(open.text).map(({ data }) => data.type ?? data);
  assert.deepEqual(types, ['response.created', 'response.output_text.delta', 'agent.unknown', 'response.completed', '[DONE]']);

  for (const path of ['/backend-api/agent/models', '/meter/usage', '/backend-api/meter/agent-identities/jwks']) {
    assert.equal((await gate.send(path)).status, 404, path);
  }
});
