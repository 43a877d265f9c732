// Chains of models over the wire: when a turn goes on to another model, how the turn changes, and where this is reported (AA74 to AA77).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failure } from '../../accounts/health/support.ts';
import { lists, refuses, startPlatform } from '../../providers/responses/platform.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { type Draft, type GatewayOptions, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { responseId } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, turnBody } from '../../support/rehearsal-replies.ts';
import { outputOf, user } from '../../support/stages/continuity.ts';
import { asking, startFiles, upload } from '../../support/stages/files.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';

const chained = (fallback: readonly string[] = ['model-b'], more: (draft: Draft) => void = () => undefined): GatewayOptions => ({
  // Only north has model-a.
  upstream: {
    accounts: [
      { id: 'north', models: ['model-a', 'model-b', 'model-c'].map((slug) => modelEntry({ slug })) },
      { id: 'south', models: ['model-b', 'model-c'].map((slug) => modelEntry({ slug })) },
    ],
    strict: false,
  },
  config: (draft) => {
    draft.pools[0].models = { 'model-a': { fallback } };
    more(draft);
  },
});

const sent = (gate: TestGateway): readonly unknown[] => gate.upstream.turns().map(({ json }) => (json as { model?: unknown }).model);
const turn = (gate: TestGateway, changes: Readonly<Record<string, unknown>> = {}): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hi', changes as never) });

test('[AA75] [AA76] [AA77] a turn goes on to the next id where all attempts failed before output', async () => {
  await using gate = await startGateway(chained());
  gate.upstream.next('north', 'refuse 503');
  const reply = await turn(gate);
  assert.deepEqual([reply.status, reply.headers.get('x-poolgate-model')], [200, 'model-b']);
  assert.deepEqual(sent(gate), ['model-a', 'model-b']);
  const row = await gate.row(reply);
  assert.deepEqual([row?.model, row?.requested_model, row?.retries], ['model-b', 'model-a', 1]);
  const metrics = await gate.metrics();
  assert.match(metrics, /poolgate_model_fallback_total\{pool="team",from="model-a",to="model-b"\} 1\n/);
  assert.equal((await gate.usageRows())[0]?.requests, 1, 'one turn');
});

test('[AA75] a turn goes on where selection found no account, and stays where one can serve it', async () => {
  await using gate = await startGateway(chained());
  const first = await turn(gate);
  assert.equal(first.headers.get('x-poolgate-model'), null);
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const second = await turn(gate);
  assert.deepEqual([second.status, second.headers.get('x-poolgate-model')], [200, 'model-b']);
  assert.deepEqual(sent(gate), ['model-a', 'model-b']);
  const row = await gate.row(second);
  assert.deepEqual([row?.model, row?.requested_model, row?.retries], ['model-b', 'model-a', 0]);
});

test('[AA77] bodies and events of the compatible surfaces have the served id, collected and streamed', async () => {
  await using gate = await startGateway(chained());
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const json = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  assert.deepEqual([json.json.model, json.headers.get('x-poolgate-model')], ['model-b', 'model-b']);
  const stream = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', stream: true } });
  assert.deepEqual([...new Set(eventsOf(stream.text).flatMap(({ data }) => data.response?.model ?? []))], ['model-b']);
  const chat = await gate.send('/v1/chat/completions', { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] } });
  assert.deepEqual([chat.json.model, chat.headers.get('x-poolgate-model')], ['model-b', 'model-b']);
});

test('[AA77] a frame of a websocket goes on too, and its metadata event names the served id', async () => {
  await using gate = await startGateway(chained());
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  using client = await connect(gate);
  const frames = await client.turn(turnBody('hi'));
  assert.equal(frames.at(-1)?.type, 'response.completed');
  const metadata = frames.find(({ type }) => type === 'agent.response.metadata') as { headers: Record<string, unknown> };
  assert.equal(metadata.headers['x-poolgate-model'], 'model-b');
});

test('[AA75] a turn goes on where no account of the asked model is routable', async () => {
  await using gate = await startGateway(chained());
  gate.fail('north', 'model-a', failure('credential'));
  const reply = await turn(gate);
  assert.deepEqual([reply.status, reply.headers.get('x-poolgate-model')], [200, 'model-b']);
  const row = await gate.row(reply);
  assert.deepEqual([row?.account, row?.requested_model, row?.input_tokens === null], ['SOUTH', 'model-a', false]);
});

test('[AA75] failures of the request, limits of the key and anchors do not go on', async () => {
  await using gate = await startGateway(
    chained(['model-b'], (draft) => {
      draft.keys[0].limits = { requests_per_day: 2 };
    }),
  );
  gate.upstream.next('north', 'refuse 400');
  assert.equal((await turn(gate)).status, 400);
  const anchored = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', previous_response_id: 'resp_unknown' } });
  assert.equal(anchored.json.error.code, 'previous_response_not_found');
  await turn(gate);
  const limited = await turn(gate);
  assert.equal(limited.json.error.code, 'rate_limit_exceeded');
  assert.ok(!sent(gate).includes('model-b'));
});

test('[AA75] a compaction does not go on', async () => {
  await using gate = await startGateway(chained());
  gate.fail('north', 'model-a', failure('credential'));
  const reply = await gate.send(`${NATIVE}/compact`, { body: { model: 'model-a', input: [user('hi')], instructions: 'x' } });
  assert.equal(reply.status, 503);
});

test('[AA75] a turn that names a file stays with the account that has it', async () => {
  await using gate = await startFiles(chained());
  const { json } = await upload(gate);
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const body = { model: 'model-a', input: [asking({ type: 'input_file', file_id: json.id })] };
  const refused = await gate.send('/v1/responses', { body });
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached'], refused.text);
  assert.deepEqual(sent(gate), []);
  const plain = await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  assert.equal(plain.headers.get('x-poolgate-model'), 'model-b', 'one without the file goes on');
});

test('[AA75] a turn that continues a response of a websocket does not go on', async () => {
  await using gate = await startGateway(chained());
  using client = await connect(gate);
  const id = responseId(await client.turn(turnBody('hi')));
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const frames = await client.turn(turnBody('go on', { previous_response_id: id }));
  assert.equal(frames.at(-1)?.type, 'error', JSON.stringify(frames));
  assert.deepEqual(sent(gate), ['model-a']);
});

test('[AA75] [Q10] its client is asked for the turn in full, which goes on', async () => {
  for (const fails of ['before', 'in the turn']) {
    await using gate = await startGateway(chained());
    using client = await connect(gate);
    const id = responseId(await client.turn(turnBody('hi')));
    if (fails === 'before') gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
    else gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
    const refused = (await client.turn(turnBody('go on', { previous_response_id: id }))).at(-1);
    const { code } = (refused?.error ?? {}) as { code?: unknown };
    assert.equal(code, 'previous_response_not_found', JSON.stringify(refused));
    assert.equal((await client.turn(turnBody('hi, go on'))).at(-1)?.type, 'response.completed');
    assert.equal(sent(gate).at(-1), 'model-b');
  }
});

test('[AA75] a turn stays where its ciphertext excludes an account', async () => {
  const platform = await startPlatform();
  try {
    await using gate = await startGateway(
      chained(['model-b'], (draft) => {
        const box = { id: 'box', api: 'responses', base_url: platform.url, credential: 'none', models: { 'model-a': 'own-a' } };
        draft.accounts.push({ ...box, catalog: [{ id: 'own-a', context_window: 272_000 }] });
        draft.pools[0].assignments.push({ account: 'box', tier: 1 });
        draft.pools[0].overflow = { reasoning: 'keep', on: ['quota'] };
      }),
    );
    const made = outputOf(await turn(gate));
    gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
    const refused = await turn(gate, { input: [user('hi'), ...made, user('go on')] });
    assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached'], refused.text);
    assert.deepEqual([sent(gate), platform.requests.length], [['model-a'], 0]);
  } finally {
    await platform.close();
  }
});

test('[AA75] images, audio, files and embeddings do not go on', async () => {
  const platform = await startPlatform();
  platform.reading.set('/v1/models', lists(['embed-a', 'embed-b']));
  try {
    await using gate = await startFiles(
      chained(['model-b'], (draft) => {
        for (const id of ['gpt-image-2', 'gpt-4o-transcribe']) draft.pools[0].models[id] = { fallback: ['model-b'] };
        draft.pools[0].models['embed-a'] = { fallback: ['embed-b'] };
        // The fallbacks of the host model do not apply to an image either.
        draft.pools[0].image_host_model = 'model-a';
        const serves = ['embeddings'];
        draft.accounts.push({ id: 'box', api: 'chat', base_url: platform.url, credential: 'none', serves, read_models: 'all' });
        draft.pools[0].assignments.push({ account: 'box' });
        draft.routes = [
          { POST: '/v1/embeddings', status: 'supported', serve: 'embeddings' },
          {
            POST: '/v1/images/generations',
            status: 'translated',
            serve: 'public-image',
            to: '/backend-api/agent/responses',
            class: 'image',
          },
          {
            POST: '/v1/audio/transcriptions',
            status: 'translated',
            serve: 'public-transcription',
            to: '/backend-api/transcribe',
            class: 'audio',
          },
          { POST: '/v1/files', status: 'translated', serve: 'public-file-create', to: '/backend-api/files', class: 'file' },
        ];
      }),
    );
    for (const account of ['north', 'south']) {
      gate.upstream.always(account, 'refuse 503');
      for (const path of ['/backend-api/transcribe', '/backend-api/files']) gate.upstream.nextOn(account, path, 'refuse 503');
    }
    platform.next.push(refuses(503, {}), refuses(503, {}));
    const audio = formOf([
      { name: 'file', filename: 'a.wav', type: 'audio/wav', value: Buffer.from('RIFF') },
      { name: 'model', value: 'gpt-4o-transcribe' },
    ]);
    const form = { 'content-type': FORM_TYPE };
    const replies = [
      await gate.send('/v1/images/generations', { body: { model: 'gpt-image-2', prompt: 'a tree' } }),
      await gate.send('/v1/audio/transcriptions', { body: audio, headers: form }),
      await upload(gate),
      await gate.send('/v1/embeddings', { body: { model: 'embed-a', input: 'hi' } }),
    ];
    for (const [i, reply] of replies.entries()) {
      assert.ok(reply.status >= 500, `${i}: ${reply.status} ${reply.text}`);
      assert.equal(reply.headers.get('x-poolgate-model'), null);
      assert.equal((await gate.row(reply))?.requested_model ?? null, null);
    }
    assert.ok(gate.upstream.requests().length > 0 && platform.requests.length > 0, 'each was sent');
    const asked = [...gate.upstream.requests().map(({ body }) => body.toString()), ...platform.requests.map(({ body }) => body.toString())];
    assert.ok(!asked.some((text) => text.includes('model-b') || text.includes('embed-b')));
  } finally {
    await platform.close();
  }
});

test('[AA77] on the Messages surface the header and the bodies have the served id, collected and streamed', async () => {
  await using gate = await startGateway(chained());
  const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
  const first = await gate.send('/v1/messages', { body });
  assert.deepEqual([first.status, first.json.model, first.headers.get('x-poolgate-model')], [200, 'model-a', null], first.text);
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const whole = await gate.send('/v1/messages', { body });
  assert.deepEqual([whole.status, whole.json.model, whole.headers.get('x-poolgate-model')], [200, 'model-b', 'model-b'], whole.text);
  const streamed = await gate.send('/v1/messages', { body: { ...body, stream: true } });
  assert.equal(streamed.headers.get('x-poolgate-model'), 'model-b');
  const [start] = eventsOf(streamed.text).filter(({ event }) => event === 'message_start');
  assert.equal(start?.data.message.model, 'model-b');
  assert.deepEqual(sent(gate), ['model-a', 'model-b', 'model-b']);
  const row = await gate.row(whole);
  assert.deepEqual([row?.model, row?.requested_model], ['model-b', 'model-a']);
});

test('[AA76] an id outside the key’s list, a suppressed one, and one that refuses the effort are passed over', async () => {
  await using gate = await startGateway(
    chained(['model-c', 'model-b'], (draft) => {
      draft.keys[0].models = ['model-a', 'model-b'];
    }),
  );
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  assert.equal((await turn(gate)).headers.get('x-poolgate-model'), 'model-b');
  await gate.reconfigure((draft) => {
    draft.pools[0].models['model-b'] = { suppressed: true };
  });
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const refused = await turn(gate);
  assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached'], 'the refusal of the asked model');
  const row = await gate.row(refused);
  assert.deepEqual([row?.model, row?.requested_model], ['model-a', null]);
});

test('[AA76] the serving mode is captured for the pair that is served', async () => {
  await using gate = await startGateway(
    chained(['model-b'], (draft) => {
      draft.pools[0].serving_modes = { 'model-a': 'full', 'model-b': 'lite' };
    }),
  );
  gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 60_000 }));
  const reply = await turn(gate);
  const row = await gate.row(reply);
  assert.deepEqual([row?.configured_mode, row?.effective_mode], ['lite', 'lite']);
});

test('[AA76] each id adds one to max_attempts, and a fallback’s own list is not followed [AA74]', async () => {
  await using gate = await startGateway(
    chained(['model-b'], (draft) => {
      draft.pools[0].max_attempts = 1;
      draft.pools[0].models['model-b'] = { fallback: ['model-a'] };
    }),
  );
  gate.upstream.always('north', 'refuse 503');
  gate.upstream.always('south', 'refuse 503');
  const reply = await turn(gate);
  assert.equal(reply.status, 503);
  assert.deepEqual(sent(gate), ['model-a', 'model-b']);
});
