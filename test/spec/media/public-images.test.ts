// Images on /v1 over the wire: the turn of the host model, its answer, its usage and its errors.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE } from '../../support/form.ts';
import { KEY } from '../../support/gateway.ts';
import { modelEntry, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';
import {
  askImage,
  EDITS,
  editParts,
  GENERATIONS,
  IMAGE_MODEL,
  IMAGE_PATHS,
  imagePart,
  imageRequest,
  JPEG_BYTES,
  NATIVE_EDITS,
  NATIVE_GENERATIONS,
  ONE_ACCOUNT,
  PNG_BYTES,
  PNG_URL,
  refusedAt,
  sendForm,
  sent,
  startImages,
  WEBP_BYTES,
} from '../../support/stages/images.ts';

const REASONED = { reasoning: {}, include: ['reasoning.encrypted_content'], stream: true, store: false };

describe('[D10] images on /v1', () => {
  test('[D10] [Q22] [F1.4] a generation is a turn of the host with the one image tool', async () => {
    await using gate = await startImages();
    const options = {
      ...{ size: '1024x1024', quality: 'high', background: 'transparent', input_fidelity: 'low', output_format: 'webp' },
      ...{ output_compression: 80, moderation: 'low' },
    };
    const neutral = { n: 1, response_format: 'b64_json', user: 'u-1', stream: false, partial_images: 0, style: null };
    const reply = await gate.send(GENERATIONS, { body: { model: IMAGE_MODEL, prompt: 'a cat', ...options, ...neutral } });
    const [turn] = gate.upstream.turns();
    assert.equal(turn?.path, '/backend-api/agent/responses');
    assert.deepEqual(turn?.json, {
      model: 'model-a',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a cat' }] }],
      tools: [{ type: 'image_generation', model: IMAGE_MODEL, ...options }],
      tool_choice: 'required',
      ...REASONED,
      instructions: '',
    });
    assert.deepEqual([reply.status, Object.keys(reply.json)], [200, ['created', 'data', 'usage']]);
    assert.ok(Number.isInteger(reply.json.created));
    assert.deepEqual(reply.json.data, [{ b64_json: PNG, revised_prompt: 'A rehearsal of: a cat' }]);
    assert.deepEqual([reply.json.usage.output_tokens, reply.json.usage.total_tokens], [272, 274]);
    assert.equal(reply.headers.get('content-type'), 'application/json');
    assert.equal(reply.headers.get('x-agent-primary-used-percent'), null);
  });

  test('[D10] [Q22] an edit is sent with its images as data URLs, with the type of their bytes, and with its mask in the tool', async () => {
    await using gate = await startImages();
    const parts = [
      imagePart('mask'),
      imagePart('image[]', JPEG_BYTES, 'application/octet-stream'),
      { name: 'prompt', value: 'a hat' },
      imagePart('image[]', WEBP_BYTES, 'text/html'),
      imagePart('image'),
      ...Object.entries({
        model: IMAGE_MODEL,
        n: '1',
        output_compression: '7',
        size: 'auto',
        stream: 'false',
        response_format: 'b64_json',
      }).map(([name, value]) => ({ name, value })),
    ];
    const reply = await sendForm(gate, EDITS, parts);
    assert.equal(reply.status, 200);
    assert.deepEqual(sent(gate).input[0].content, [
      { type: 'input_text', text: 'a hat' },
      { type: 'input_image', image_url: PNG_URL },
      { type: 'input_image', image_url: `data:image/jpeg;base64,${JPEG_BYTES.toString('base64')}` },
      { type: 'input_image', image_url: `data:image/webp;base64,${WEBP_BYTES.toString('base64')}` },
    ]);
    assert.deepEqual(sent(gate).tools, [
      { type: 'image_generation', model: IMAGE_MODEL, size: 'auto', output_compression: 7, input_image_mask: { image_url: PNG_URL } },
    ]);
    assert.equal(gate.upstream.turns()[0]?.headers['content-type'], 'application/json');
    assert.deepEqual(reply.json.data, [{ b64_json: PNG, revised_prompt: 'A rehearsal of: a hat' }]);
  });

  test('[D10] [F2.1] [F2.5] a host in Lite gets the turn in Lite, and its row has the mode', async () => {
    await using gate = await startImages({
      config: (draft) => {
        draft.pools[0].serving_modes = { 'model-a': 'lite' };
      },
    });
    const reply = await sendForm(gate, EDITS, editParts(imagePart('mask')));
    assert.equal(reply.status, 200);
    const [turn] = gate.upstream.turns();
    assert.equal(turn?.headers['x-internal-agent-responses-lite'], 'true');
    const tool = { type: 'image_generation', model: IMAGE_MODEL, input_image_mask: { image_url: PNG_URL } };
    const content = [
      { type: 'input_text', text: 'a hat' },
      { type: 'input_image', image_url: PNG_URL },
    ];
    assert.deepEqual(turn?.json, {
      model: 'model-a',
      input: [
        { type: 'additional_tools', role: 'developer', tools: [tool] },
        { type: 'message', role: 'user', content },
      ],
      tool_choice: 'required',
      parallel_tool_calls: false,
      ...REASONED,
      reasoning: { context: 'all_turns' },
    });
    const row = await gate.row(reply);
    assert.deepEqual([row?.configured_mode, row?.effective_mode, row?.mode_source], ['lite', 'lite', 'override']);
  });

  test('[D10] [F1.5] [Q15] each account gets the host by its own name, without the fields that it refuses', async () => {
    await using gate = await startImages({
      upstream: { accounts: [{ id: 'north', models: [modelEntry({ slug: 'provider-host' })] }], manners: { knownMembers: false } },
      config: (draft) => {
        draft.accounts[0].models = { 'model-a': 'provider-host' };
        draft.accounts[0].keep_fields = ['max_output_tokens'];
        draft.accounts[0].drop_fields = ['max_output_tokens'];
        draft.keys[0].output_tokens = { max: 5_000 };
      },
    });
    gate.upstream.always('north', replyEvents([completed([image('AAAA')])]));
    assert.equal((await askImage(gate, GENERATIONS)).status, 200);
    assert.deepEqual([sent(gate).model, sent(gate).max_output_tokens], ['provider-host', undefined]);
    await gate.reconfigure((draft) => {
      draft.accounts[0].drop_fields = [];
    });
    await askImage(gate, GENERATIONS);
    assert.equal(sent(gate).max_output_tokens, 5_000, '[CR1] the key’s output-token policy binds the work of the host');
  });

  for (const [what, members, expected] of [
    ['no prompt', { prompt: null }, ['invalid_request', 'prompt']],
    ['an empty prompt', { prompt: ' ' }, ['invalid_request', 'prompt']],
    ['a prompt that is no text', { prompt: ['a cat'] }, ['invalid_request', 'prompt']],
    ['two images', { n: 2 }, ['unsupported_parameter', 'n']],
    ['a URL', { response_format: 'url' }, ['unsupported_parameter', 'response_format']],
    ['a stream', { stream: true }, ['unsupported_parameter', 'stream']],
    ['partial images', { partial_images: 1 }, ['unsupported_parameter', 'partial_images']],
    ['a style', { style: 'vivid' }, ['unsupported_parameter', 'style']],
    ['an image without a form', { image: PNG_URL }, ['unsupported_parameter', 'image']],
    ['an unknown parameter, whose name is not repeated', { 'my-secret': 1 }, ['unsupported_parameter', null]],
    ['an inherited name', { constructor: 1 }, ['unsupported_parameter', null]],
    ['a size that is no text', { size: 7 }, ['invalid_request', 'size']],
    ['a compression that is no percentage', { output_compression: 101 }, ['invalid_request', 'output_compression']],
  ] as const satisfies readonly (readonly [string, JsonObject, readonly [string, string | null]])[]) {
    test(`[Q22] ${what} is ${expected[0]} before dispatch`, async () => {
      await using gate = await startImages();
      const reply = await gate.send(GENERATIONS, { body: { model: IMAGE_MODEL, prompt: 'a cat', ...(members as JsonObject) } });
      assert.deepEqual(refusedAt(reply), [400, ...expected]);
      assert.ok(!reply.text.includes('my-secret'));
      assert.equal(gate.upstream.turns().length, 0);
    });
  }

  for (const [what, parts, expected] of [
    ['no image', editParts().slice(0, 2), ['invalid_request', 'image']],
    ['an image that is a text', [...editParts().slice(0, 2), { name: 'image', value: PNG_URL }], ['invalid_request', 'image']],
    ['an empty image', editParts(imagePart('image[]', Buffer.alloc(0))), ['invalid_request', 'image.1']],
    ['an image that is another file', editParts(imagePart('image[]', Buffer.from('<svg/>'))), ['invalid_request', 'image.1']],
    ['a mask that is no image', editParts(imagePart('mask', Buffer.from('%PDF-1.7'))), ['invalid_request', 'mask']],
    ['two masks', editParts(imagePart('mask'), imagePart('mask')), ['invalid_request', 'mask']],
    ['two prompts', editParts({ name: 'prompt', value: 'again' }), ['invalid_request', 'prompt']],
    ['a file for a prompt', [...editParts().slice(0, 1), imagePart('prompt'), imagePart('image')], ['invalid_request', 'prompt']],
    ['two images asked for', editParts({ name: 'n', value: '2' }), ['unsupported_parameter', 'n']],
    ['a stream', editParts({ name: 'stream', value: 'true' }), ['unsupported_parameter', 'stream']],
    ['another file', editParts(imagePart('attachment')), ['unsupported_parameter', null]],
    ['a forbidden name', editParts({ name: '__proto__', value: '1' }), ['invalid_request', null]],
  ] as const) {
    test(`[Q22] an edit with ${what} is ${expected[0]} before dispatch`, async () => {
      await using gate = await startImages();
      assert.deepEqual(refusedAt(await sendForm(gate, EDITS, parts)), [400, ...expected]);
      assert.equal(gate.upstream.turns().length, 0);
    });
  }

  test('[Q33] edits accept only forms, and generations only JSON', async () => {
    await using gate = await startImages();
    for (const [path, type] of [
      [EDITS, 'application/json'],
      [EDITS, 'multipart/mixed; boundary=a'],
      [GENERATIONS, FORM_TYPE],
    ] as const) {
      const reply = await gate.send(path, { body: JSON.stringify({ model: IMAGE_MODEL, prompt: 'a' }), headers: { 'content-type': type } });
      assert.deepEqual(refusedAt(reply), [415, 'unsupported_media_type', null], `${type} on ${path}`);
    }
    assert.equal((await fetch(gate.url + EDITS, { method: 'POST', headers: { authorization: `Bearer ${KEY}` } })).status, 415);
  });
});

/** A terminal event with these items. */
const completed = (output: readonly Json[], more: JsonObject = {}): JsonObject => ({
  type: 'response.completed',
  response: { id: 'resp_1', object: 'response', created_at: 1_700_000_000, status: 'completed', output, usage: USAGE, ...more },
});
const USAGE = { input_tokens: 11, output_tokens: 22, total_tokens: 33 };
const image = (result: Json, more: JsonObject = {}): JsonObject => ({
  type: 'image_generation_call',
  id: 'ig_1',
  status: 'completed',
  result,
  ...more,
});

describe('[D10] the answer', () => {
  test('[Q22] one image of the first call that has one, its usage as the provider states it, and nothing else', async () => {
    await using gate = await startImages(ONE_ACCOUNT);
    const message = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Here.' }] };
    gate.upstream.next('north', replyEvents([completed([message, image(null, { status: 'failed' }), image('AAAA'), image('BBBB')])]));
    const reply = await askImage(gate, GENERATIONS);
    assert.deepEqual(reply.json, { created: 1_700_000_000, data: [{ b64_json: 'AAAA' }], usage: USAGE });
    gate.upstream.next('north', replyEvents([completed([image('AAAA', { revised_prompt: 'cat' })], { usage: null, created_at: null })]));
    const bare = await askImage(gate, GENERATIONS);
    assert.deepEqual([bare.json.data, bare.json.usage], [[{ b64_json: 'AAAA', revised_prompt: 'cat' }], undefined]);
    assert.ok(Number.isInteger(bare.json.created));
  });

  test('[Q15] an empty output is filled from the finished items, and a JSON answer of a provider is accepted', async () => {
    await using gate = await startImages(ONE_ACCOUNT);
    gate.upstream.next('north', 'empty output');
    assert.equal((await askImage(gate, GENERATIONS)).json.data[0].b64_json, PNG);
    gate.upstream.next('north', replyJson(completed([image('AAAA')]).response as JsonObject));
    assert.deepEqual((await askImage(gate, GENERATIONS)).json.data, [{ b64_json: 'AAAA' }]);
  });

  for (const [what, output, more] of [
    ['nothing', [], {}],
    ['a text', [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'No.' }] }], {}],
    ['a call that failed', [image(null, { status: 'failed' })], {}],
    ['an empty image', [image('')], {}],
    ['an image that is no text', [image({ url: 'x' })], {}],
    ['an incomplete response', [], { status: 'incomplete' }],
    ['no output at all', null, {}],
  ] as const) {
    test(`[Q22] ${what} is 502 image_generation_failed, which SDKs do not retry`, async () => {
      await using gate = await startImages();
      const { response } = completed(output as unknown as Json[], more) as { response: JsonObject };
      const type = response.status === 'incomplete' ? 'response.incomplete' : 'response.completed';
      for (const script of [replyEvents([{ type, response }]), replyJson(response)]) {
        gate.upstream.clear();
        gate.upstream.next('north', script);
        const reply = await askImage(gate, GENERATIONS);
        assert.deepEqual(refusedAt(reply), [502, 'image_generation_failed', null]);
        assert.equal(reply.headers.get('x-should-retry'), 'false');
        assert.equal(reply.json.error.type, 'server_error');
        const row = await gate.row(reply);
        assert.deepEqual([row?.outcome, row?.code, row?.input_tokens, row?.output_tokens], ['failed', 'image_generation_failed', 11, 22]);
        assert.equal(gate.upstream.turns().length, 1);
      }
      assert.equal(gate.account('north').cooldown, undefined, 'a prompt without an image says nothing of the account');
    });
  }

  for (const [what, script, expected] of [
    [
      'a moderated prompt',
      replyJson({ error: { code: 'moderation_blocked', message: 'Blocked.' } }, { status: 400 }),
      [400, 'moderation_blocked'],
    ],
    ['a refusal inside a 200 for the prompt', 'refuse inside content_policy_violation', [400, 'content_policy_violation']],
    ['a refusal inside a 200 behind visible output', 'refuse inside server_error after 4 events', [502, 'upstream_error']],
    ['an account that breaks off', 'reset after 5 events', [502, 'upstream_error']],
    ['a reply without its end', 'no terminal', [502, 'upstream_error']],
    ['an end that is no JSON', replyEvents(['no event']), [502, 'upstream_error']],
  ] as const) {
    test(`[Q3] ${what} is ${expected.join(' ')}`, async () => {
      await using gate = await startImages(ONE_ACCOUNT);
      gate.upstream.always('north', script);
      for (const path of [GENERATIONS, EDITS]) {
        const { status, json } = await askImage(gate, path);
        assert.deepEqual([status, json.error.code], expected);
      }
    });
  }

  for (const script of [
    'refuse 503',
    'refuse 429',
    'refuse inside',
    'reset before headers',
    'cut after 2 events',
    'refuse 401',
    'refuse 404',
  ]) {
    test(`[Q6] after "${script}" another account makes the image`, async () => {
      await using gate = await startImages();
      for (const path of [GENERATIONS, EDITS]) {
        gate.heal();
        gate.upstream.clear();
        gate.upstream.next('north', script, script);
        const reply = await askImage(gate, path);
        assert.deepEqual([reply.status, reply.json.data[0].b64_json], [200, PNG]);
        assert.equal(gate.upstream.turns().at(-1)?.account, 'south');
        assert.deepEqual(gate.upstream.turns('south')[0]?.json, gate.upstream.turns('north')[0]?.json, 'attempts start equal');
      }
    });
  }

  test('[F2.13] under explicit Full a provider’s 4xx is replaced', async () => {
    await using gate = await startImages({
      ...ONE_ACCOUNT,
      config: (draft) => {
        draft.pools[0].serving_modes = { 'model-a': 'full' };
      },
    });
    gate.upstream.next('north', 'refuse 422 invalid_value');
    assert.deepEqual(refusedAt(await askImage(gate, GENERATIONS)), [422, 'full_upstream_rejection', null]);
  });

  test('a client that leaves ends the turn at the account, and its row shows that', async () => {
    await using gate = await startImages(ONE_ACCOUNT);
    for (const path of IMAGE_PATHS) {
      gate.upstream.next('north', 'stall before headers');
      const leaving = new AbortController();
      const asked = gate.fetch(path, { ...imageRequest(path), signal: leaving.signal });
      await gate.upstream.stalled('north');
      leaving.abort();
      await assert.rejects(asked);
      assert.equal(await gate.upstream.turns().at(-1)?.closed, 'left', path);
    }
    assert.deepEqual(
      (await gate.rows()).map(({ status, outcome }) => [status, outcome]),
      IMAGE_PATHS.map(() => [499, 'client_gone']),
    );
  });
});

describe('[S2] the usage of images', () => {
  test('[Q18] the tokens of the image count in addition to those of the host, at the prices of the image model', async () => {
    await using gate = await startImages({
      config: (draft) => {
        draft.pools[0].models = { [IMAGE_MODEL]: { prices: { input: 0, cached_input: 0, output: 1_000 } } };
      },
    });
    const image_gen = { input_tokens: 5, output_tokens: 1_000, total_tokens: 1_005 };
    const usage = { ...USAGE, input_tokens_details: { cached_tokens: 3 } };
    gate.upstream.next(
      'north',
      replyEvents([completed([image('AAAA')], { usage, tool_usage: { image_gen, web_search: { num_requests: 0 } } })]),
    );
    const reply = await askImage(gate, GENERATIONS);
    assert.deepEqual(reply.json.usage, image_gen);
    const row = await gate.row(reply);
    assert.deepEqual([row?.model, row?.input_tokens, row?.cached_input_tokens, row?.output_tokens], [IMAGE_MODEL, 16, 3, 1_022]);
    const native = await askImage(gate, NATIVE_GENERATIONS);
    assert.deepEqual([(await gate.row(native))?.input_tokens, (await gate.row(native))?.output_tokens], [2, 272]);
    const { json } = await gate.send('/v1/usage');
    assert.deepEqual([json.request_count, json.output_tokens, json.total_cost_usd], [2, 1_294, 1.294]);
  });

  test('[Q19] images and masks are reserved at 1,000 tokens each, and their bytes do not count as text', async () => {
    await using gate = await startImages({
      config: (draft) => {
        draft.keys[0].limits = { tokens_per_minute: 5_000 };
      },
    });
    // The limit is 2,048 output tokens, and an image counts as 1,000: two images fit, three do not.
    const large = Buffer.concat([PNG_BYTES, Buffer.alloc(200_000, 'a')]);
    assert.equal((await sendForm(gate, EDITS, editParts(imagePart('mask', large)))).status, 200);
    await using again = await startImages({
      config: (draft) => {
        draft.keys[0].limits = { tokens_per_minute: 5_000 };
      },
    });
    const reply = await sendForm(again, EDITS, editParts(imagePart('mask', large), imagePart('image[]')));
    assert.deepEqual(refusedAt(reply), [429, 'rate_limit_exceeded', null]);
    assert.match(reply.json.error.message, /5050 tokens|50\d\d tokens/);
    const images = [PNG_URL, PNG_URL, PNG_URL].map((image_url) => ({ image_url }));
    assert.equal((await again.send(NATIVE_EDITS, { body: { model: IMAGE_MODEL, prompt: 'a', images } })).status, 429);
    assert.equal(again.upstream.turns().length, 0);
  });

  test('image requests have an admission class of their own', async () => {
    await using gate = await startImages({
      ...ONE_ACCOUNT,
      config: (draft) => {
        draft.admission = { image: { running: 1, waiting: 0, wait_ms: 0 } };
      },
    });
    gate.upstream.next('north', 'stall before headers');
    const running = askImage(gate, EDITS);
    await gate.upstream.stalled('north');
    for (const path of IMAGE_PATHS) assert.deepEqual(refusedAt(await askImage(gate, path)), [503, 'server_is_overloaded', null]);
    assert.equal((await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } })).status, 200);
    gate.upstream.release();
    assert.equal((await running).status, 200);
  });

  test('[RM] a row has the route, the account and the host, and [F7.2] [F8.3] no image turn is compressed or steered by a cache', async () => {
    assert.equal(hash('sha256', KEY, 'hex').length, 64);
    await using gate = await startImages();
    for (const path of IMAGE_PATHS) {
      const row = await gate.row(await askImage(gate, path));
      const family = path.startsWith('/v1') ? 'v1' : 'backend-agent';
      assert.deepEqual([row?.family, row?.endpoint, row?.method, row?.status, row?.account], [family, path, 'POST', 200, 'NORTH']);
      assert.deepEqual([row?.why?.reason, row?.payload_compression, row?.outcome], ['fill_first', null, 'completed']);
    }
  });
});

test('[Q22] a provider’s error names the members of the Images API, refused with a status or inside the reply', async () => {
  await using gate = await startImages({ upstream: { accounts: ['north'] } });
  const error = {
    message: "Invalid value: 'tools[0].size'.",
    type: 'invalid_request_error',
    code: 'invalid_value',
    param: 'tools[0].size',
  };
  for (const refusal of [replyJson({ error }, { status: 400 }), replyEvents([{ ...error, type: 'error' }])]) {
    gate.upstream.next('north', refusal);
    const { status, json } = await askImage(gate, GENERATIONS);
    assert.deepEqual([status, json.error.param, json.error.message], [400, 'size', "Invalid value: 'size'."]);
  }
});
