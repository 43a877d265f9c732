// Images over the wire: the native proxy, the host model of /v1, the permission, and the models that a request may name.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { bearerOf, type Draft, eventsOf, KEY } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
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
  PNG_BYTES,
  PNG_URL,
  sendForm,
  sent,
  startImages,
  WEBP_BYTES,
} from '../../support/stages/images.ts';

const ONE = { upstream: { accounts: ['north'] } } as const;

const refused = ({ status, json }: { status: number; json: { error: { code: string; param: string | null } } }): unknown[] => [
  status,
  json.error.code,
  json.error.param,
];

describe('[A6] the native image routes', () => {
  test('[A6] a JSON body is sent unchanged to the same path, and the answer is returned unchanged', async () => {
    await using gate = await startImages();
    const body = {
      model: IMAGE_MODEL,
      prompt: 'a cat',
      n: 4,
      size: '1x1',
      unknown: { kept: [1, null] },
      user: 'u',
      response_format: 'url',
    };
    const headers = { 'x-agent-window-id': 'w:0', cookie: 'a=b', 'session-id': 's' };
    const reply = await gate.send(`${NATIVE_GENERATIONS}?a=b`, { body, headers });
    const [turn] = gate.upstream.turns();
    assert.deepEqual([turn?.path, turn?.query, turn?.json], [NATIVE_GENERATIONS, 'a=b', body]);
    assert.equal(turn?.headers.authorization, `Bearer ${bearerOf('north')}`);
    assert.deepEqual(
      [turn?.headers['x-agent-window-id'], turn?.headers.cookie, turn?.headers['session-id']],
      ['w:0', undefined, undefined],
    );
    assert.equal(reply.status, 200);
    assert.deepEqual(Object.keys(reply.json), ['created', 'data', 'background', 'output_format', 'quality', 'size', 'usage']);
    assert.ok(reply.headers.get('x-agent-primary-used-percent'), 'native clients get the quota');
    assert.equal(reply.headers.get('x-models-etag'), null);
  });

  test('[RB37] the image paths of a real backend get the model, the size and the images as the client stated them', async () => {
    await using gate = await startImages({ clock: new ManualClock() });
    const asked = { prompt: 'a cat', model: 'gpt-image-2', background: 'transparent', quality: 'high', size: '3840x2160', n: 1 };
    for (const [path, body] of [
      [NATIVE_GENERATIONS, asked],
      [NATIVE_EDITS, { ...asked, images: [{ image_url: PNG_URL }] }],
    ] as const) {
      gate.upstream.clear();
      const reply = await gate.send(path, { body });
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual([gate.upstream.turns()[0]?.path, sent(gate)], [path, body]);
      assert.deepEqual([typeof reply.json.created, reply.json.data[0].b64_json], ['number', PNG]);
    }
  });

  test('[RB37] an image that takes two minutes is waited for', async () => {
    const clock = new ManualClock();
    await using gate = await startImages({ clock });
    gate.upstream.next('north', 'stall before headers');
    const asking = askImage(gate, NATIVE_GENERATIONS);
    await gate.upstream.stalled('north');
    await clock.advance(120_000);
    gate.upstream.release('north');
    const reply = await asking;
    assert.deepEqual([reply.status, gate.upstream.turns().length], [200, 1], reply.text);
  });

  test('[A6] a form reaches the account with the same fields and files', async () => {
    await using gate = await startImages();
    const parts = [
      { name: 'prompt', value: 'zwölf "Hüte"\r\n' },
      imagePart('image[]'),
      imagePart('image[]', JPEG_BYTES, 'image/jpeg'),
      { name: 'mask', value: Buffer.alloc(0), filename: 'a "mask".png', type: 'application/octet-stream' },
      { name: 'model', value: IMAGE_MODEL },
    ];
    const reply = await sendForm(gate, NATIVE_EDITS, parts);
    assert.equal(reply.status, 200);
    const [turn] = gate.upstream.turns();
    const request = new Request('http://account', {
      method: 'POST',
      headers: turn?.headers as Record<string, string>,
      body: new Uint8Array(turn?.body ?? []),
    });
    const form = await request.formData();
    const read = await Promise.all(
      [...form].map(async ([name, value]) => [
        name,
        typeof value === 'string' ? value : [value.type, Buffer.from(await value.arrayBuffer())],
      ]),
    );
    assert.deepEqual(read, [
      ['prompt', 'zwölf "Hüte"\r\n'],
      ['image[]', ['image/png', PNG_BYTES]],
      ['image[]', ['image/jpeg', JPEG_BYTES]],
      ['mask', ['application/octet-stream', Buffer.alloc(0)]],
      ['model', IMAGE_MODEL],
    ]);
  });

  test('[A6] a stream of images passes as it came, and its row has the usage', async () => {
    await using gate = await startImages();
    for (const [path, family] of [
      [NATIVE_GENERATIONS, 'image_generation'],
      [NATIVE_EDITS, 'image_edit'],
    ] as const) {
      const { body } = imageRequest(path);
      const reply = await gate.send(path, { body: { ...(body as JsonObject), stream: true } });
      assert.deepEqual(
        eventsOf(reply.text).map(({ event }) => event),
        [`${family}.partial_image`, `${family}.completed`],
      );
      const row = await gate.row(reply);
      assert.deepEqual([row?.outcome, row?.output_tokens, row?.endpoint], ['completed', 272, path]);
    }
    assert.equal(gate.account('north').cooldown, undefined);
  });

  test('[A6] an answer without an image, and a provider’s refusal, are passed on as they came', async () => {
    await using gate = await startImages(ONE);
    const nothing = await gate.send(NATIVE_GENERATIONS, { body: { model: IMAGE_MODEL, prompt: 'draw nothing' } });
    assert.deepEqual([nothing.status, nothing.json.data], [200, []]);
    gate.upstream.next('north', replyJson({ error: { code: 'moderation_blocked', message: 'No.' } }, { status: 400 }));
    const blocked = await askImage(gate, NATIVE_GENERATIONS);
    assert.deepEqual([blocked.status, blocked.json], [400, { error: { code: 'moderation_blocked', message: 'No.' } }]);
  });

  test('[A6] [Q6] another account is tried after a refusal of the first, for JSON and for forms', async () => {
    await using gate = await startImages();
    for (const path of [NATIVE_GENERATIONS, NATIVE_EDITS]) {
      gate.heal();
      gate.upstream.clear();
      gate.upstream.next('north', 'refuse 503');
      assert.equal((await askImage(gate, path)).status, 200);
      gate.heal();
      gate.upstream.next('north', 'reset before headers');
      assert.equal((await sendForm(gate, path, editParts())).status, 200);
      assert.deepEqual(
        gate.upstream.turns().map(({ account }) => account),
        ['north', 'south', 'north', 'south'],
      );
    }
  });

  test('[A6] a Pool that hides quota hides it on image routes', async () => {
    await using gate = await startImages({
      config: (draft) => {
        draft.pools[0].hide_account_quota = true;
      },
    });
    assert.equal((await askImage(gate, NATIVE_GENERATIONS)).headers.get('x-agent-primary-used-percent'), null);
  });

  test('[A6] a body of another media type is 415, and one without a type counts as JSON', async () => {
    await using gate = await startImages();
    for (const type of ['text/plain', 'multipart/mixed; boundary=a', 'application/x-www-form-urlencoded']) {
      const reply = await gate.send(NATIVE_EDITS, { body: 'prompt=a', headers: { 'content-type': type } });
      assert.deepEqual(refused(reply), [415, 'unsupported_media_type', null], type);
    }
  });
});

const forbidden = (draft: Draft): void => {
  draft.pools[0].allow_image_generation = false;
};

describe('[F6.1] [PL1] the image permission', () => {
  for (const path of IMAGE_PATHS) {
    test(`[F6.1] [A9] ${path} is 403 before its body is asked for, decompressed or parsed`, async () => {
      await using gate = await startImages({ config: forbidden });
      gate.upstream.clear();
      const bodies = [
        { type: 'application/json', coding: undefined, bytes: '{ no json' },
        { type: FORM_TYPE, coding: undefined, bytes: 'no form' },
        { type: 'text/plain', coding: 'no-coding', bytes: 'no text' },
        { type: 'application/json', coding: 'gzip', bytes: gzipSync(Buffer.alloc(1_000_000)).subarray(0, 200) },
      ];
      for (const { type, coding, bytes } of bodies) {
        const headers = { 'content-type': type, ...(coding === undefined ? {} : { 'content-encoding': coding }) };
        const reply = await gate.send(path, { method: 'POST', body: bytes, headers });
        assert.deepEqual(refused(reply), [403, 'image_generation_disabled', null]);
      }
      using client = await RawClient.connect(gate.url);
      client.write(headOf('POST', path, { 'content-type': FORM_TYPE, 'content-length': 50_000_000, expect: '100-continue' }));
      assert.equal((await client.answer()).status, 403, 'not 100');
      assert.deepEqual(gate.upstream.requests(), []);
    });

    test(`[AU5] ${path} requires a key first, whatever the permission`, async () => {
      await using gate = await startImages({ config: forbidden });
      for (const authorization of ['', 'Bearer pg-unknown']) {
        const reply = await gate.send(path, { ...imageRequest(path), headers: { authorization } });
        assert.deepEqual(refused(reply), [401, 'invalid_api_key', null]);
      }
    });
  }

  test('[PL1] it is given by default, can be withdrawn by a reload, and applies to no other route', async () => {
    await using gate = await startImages();
    for (const path of IMAGE_PATHS) assert.equal((await askImage(gate, path)).status, 200, path);
    await gate.reconfigure(forbidden);
    for (const path of IMAGE_PATHS) assert.equal((await askImage(gate, path)).status, 403, path);
    const turn = { model: 'model-a', input: 'draw: a cat', tools: [{ type: 'image_generation' }] };
    const reply = await gate.send('/v1/responses', { body: turn });
    assert.equal(reply.json.output.at(-1).result, PNG);
    assert.deepEqual(refused(await gate.send('/v1/images/variations', { body: {} })), [404, 'unsupported_endpoint', null]);
  });
});

describe('[A10] the model of an image request', () => {
  for (const path of IMAGE_PATHS) {
    test(`[AU5] [Q4] ${path}: the key’s list applies to the model that the client named, not to the host`, async () => {
      await using gate = await startImages({
        config: (draft) => {
          draft.keys[0].models = [IMAGE_MODEL];
        },
      });
      assert.deepEqual(refused(await askImage(gate, path, 'model-a')), [403, 'model_not_allowed', 'model']);
      assert.equal(gate.upstream.turns().length, 0);
      const reply = await askImage(gate, path);
      assert.equal(reply.status, 200);
      assert.equal((await gate.row(reply))?.model, IMAGE_MODEL, 'a name of the configuration may be kept');
    });

    test(`[Q4] ${path} without a model, or with one that is not a string, is invalid_model before its other members are checked`, async () => {
      await using gate = await startImages();
      const bodies: readonly JsonObject[] = [{ n: 7 }, { model: '' }, { model: 7 }, { model: null }];
      for (const body of bodies) {
        const form = {
          body: formOf([{ name: 'model', value: `${body.model ?? ''}`.replace('7', '') }]),
          headers: { 'content-type': FORM_TYPE },
        };
        assert.deepEqual(refused(await gate.send(path, path === EDITS ? form : { body })), [400, 'invalid_model', 'model']);
      }
    });
  }

  test('[A10] an absent model goes to accounts that can host it, with its identifier preserved exactly', async () => {
    const models = [modelEntry({ slug: 'host' })];
    const id = 'GPT-Image-1:Preview.2';
    await using gate = await startImages({
      upstream: {
        accounts: [
          { id: 'idle', models },
          { id: 'other', models: [] },
          { id: 'dark', models },
          { id: 'north', models },
        ],
      },
      config: (draft) => {
        draft.pools[0].image_host_model = 'host';
        draft.pools[0].assignments[0].eligible = false;
        draft.accounts[2].visible = false;
        // The account has another name for the model, but does not list it, so nothing proves that the two are the same model.
        draft.accounts[3].models = { [id]: 'provider-image' };
      },
    });
    for (const path of IMAGE_PATHS) {
      gate.upstream.clear();
      const reply = await askImage(gate, path, id);
      assert.equal(reply.status, 200, path);
      const [turn] = gate.upstream.turns();
      assert.equal(turn?.account, 'north');
      const named = path.startsWith('/v1') ? sent(gate).tools[0].model : sent(gate).model;
      assert.equal(named, id);
      // No configuration has this text of the client; the row has the host model, which served the request on /v1.
      assert.equal((await gate.row(reply))?.model, path.startsWith('/v1') ? 'host' : null);
    }
  });

  test('[A10] a model of the catalog has each account’s own name, and on native routes goes to the accounts that list it', async () => {
    await using gate = await startImages({
      upstream: {
        accounts: [
          { id: 'north', models: [modelEntry({ slug: 'model-a' })] },
          { id: 'south', models: ['model-a', 'img-2'].map((slug) => modelEntry({ slug })) },
        ],
      },
      config: (draft) => {
        draft.accounts[1].models = { [IMAGE_MODEL]: 'img-2', 'model-a': 'model-a' };
      },
    });
    for (const path of [NATIVE_GENERATIONS, NATIVE_EDITS]) {
      const reply = await askImage(gate, path);
      assert.deepEqual([reply.status, gate.upstream.turns().at(-1)?.account, sent(gate).model], [200, 'south', 'img-2']);
      assert.equal((await gate.row(reply))?.model, IMAGE_MODEL);
    }
    assert.equal((await sendForm(gate, NATIVE_EDITS, editParts())).status, 200);
    assert.match(gate.upstream.turns().at(-1)?.body.toString() ?? '', /name="model"\r\n\r\nimg-2\r\n/);
    for (const mode of ['full', 'lite']) {
      await gate.reconfigure((draft) => {
        draft.pools[0].serving_modes = { 'model-a': mode };
        draft.pools[0].assignments = [{ account: 'south' }];
      });
      assert.equal((await askImage(gate, GENERATIONS)).status, 200);
      const { tools = sent(gate).input[0].tools } = sent(gate);
      assert.equal(tools[0].model, 'img-2', mode);
    }
  });

  for (const [what, edit] of [
    ['suppressed', (draft: Draft) => (draft.pools[0].models = { listed: { suppressed: true } })],
    ['suppressed and in no catalog', (draft: Draft) => (draft.pools[0].models = { [IMAGE_MODEL]: { suppressed: true } })],
    ['listed by an invisible account alone', (draft: Draft) => (draft.accounts[1].visible = false)],
  ] as const) {
    test(`[A10] a model that is ${what} is invalid_model on every image route`, async () => {
      await using gate = await startImages({
        upstream: {
          accounts: [
            { id: 'north', models: [modelEntry({ slug: 'model-a' })] },
            { id: 'south', models: [modelEntry({ slug: 'listed' })] },
          ],
        },
      });
      await gate.reconfigure(edit);
      gate.upstream.clear();
      const model = what.includes('no catalog') ? IMAGE_MODEL : 'listed';
      for (const path of IMAGE_PATHS) assert.deepEqual(refused(await askImage(gate, path, model)), [400, 'invalid_model', 'model'], path);
      assert.equal(gate.upstream.turns().length, 0);
    });
  }

  test('[A10] without a host, native requests go to any account that is eligible and visible, and the refusal on /v1 names the missing setting', async () => {
    await using gate = await startImages({
      config: (draft) => {
        delete draft.pools[0].image_host_model;
        draft.accounts[0].visible = false;
      },
    });
    for (const path of [NATIVE_GENERATIONS, NATIVE_EDITS]) assert.equal((await askImage(gate, path)).status, 200);
    assert.deepEqual(new Set(gate.upstream.turns().map(({ account }) => account)), new Set(['south']));
    for (const path of [GENERATIONS, EDITS]) {
      const reply = await askImage(gate, path);
      assert.deepEqual(refused(reply), [400, 'invalid_model', 'model']);
      assert.match(reply.json.error.message, /image_host_model/);
    }
  });

  test('[A10] [SM5] a host without a routable source, or in no catalog, is 503 no_eligible_account', async () => {
    await using gate = await startImages();
    for (const host of ['model-a', 'nowhere']) {
      await gate.reconfigure((draft) => {
        draft.pools[0].image_host_model = host;
        for (const assignment of draft.pools[0].assignments) assignment.active = false;
      });
      for (const path of IMAGE_PATHS) assert.deepEqual(refused(await askImage(gate, path)), [503, 'no_eligible_account', null], path);
    }
    assert.equal(gate.upstream.turns().length, 0);
  });

  test('[A10] [F8.1] an image from another account does not move its session there', async () => {
    await using gate = await startImages({
      upstream: { accounts: [{ id: 'north' }, { id: 'south', models: ['model-a', IMAGE_MODEL].map((slug) => modelEntry({ slug })) }] },
    });
    const headers = { 'x-agent-window-id': 'w:0' };
    const accounts: (string | undefined)[] = [];
    for (const [path, body] of [
      ['/v1/responses', { model: 'model-a', input: 'hi' }],
      [NATIVE_GENERATIONS, { model: IMAGE_MODEL, prompt: 'a cat' }],
      ['/v1/responses', { model: 'model-a', input: 'hi' }],
    ] as const) {
      assert.equal((await gate.send(path, { body, headers })).status, 200);
      accounts.push(gate.upstream.turns().at(-1)?.account);
    }
    assert.deepEqual(accounts, ['north', 'south', 'north']);
    assert.equal((await gate.rows()).at(-1)?.why?.reason, 'soft_pin');
  });

  test('[A10] accounts that refuse a client’s model, or make no images, stay in use for the turns of the host', async () => {
    await using gate = await startImages();
    for (const account of ['north', 'south']) gate.upstream.always(account, 'refuse 404 model_not_found');
    assert.equal((await askImage(gate, GENERATIONS)).status, 404);
    assert.deepEqual(
      gate.accounts().map(({ models }) => models),
      [{}, {}],
      'a name that no account knows cools nothing',
    );
    gate.upstream.clear();
    for (const account of ['north', 'south']) gate.upstream.always(account, 'refuse 500');
    for (let i = 0; i < 3; i++) assert.equal((await askImage(gate, GENERATIONS)).status, 502);
    gate.upstream.clear();
    gate.upstream.always('north', 'steady');
    assert.equal((await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } })).status, 200);
    assert.equal(gate.upstream.turns()[0]?.account, 'north', 'text turns still begin at the first account');
  });
});

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
      assert.deepEqual(refused(reply), [400, ...expected]);
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
      assert.deepEqual(refused(await sendForm(gate, EDITS, parts)), [400, ...expected]);
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
      assert.deepEqual(refused(reply), [415, 'unsupported_media_type', null], `${type} on ${path}`);
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
    await using gate = await startImages(ONE);
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
    await using gate = await startImages(ONE);
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
        assert.deepEqual(refused(reply), [502, 'image_generation_failed', null]);
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
      await using gate = await startImages(ONE);
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
      ...ONE,
      config: (draft) => {
        draft.pools[0].serving_modes = { 'model-a': 'full' };
      },
    });
    gate.upstream.next('north', 'refuse 422 invalid_value');
    assert.deepEqual(refused(await askImage(gate, GENERATIONS)), [422, 'full_upstream_rejection', null]);
  });

  test('a client that leaves ends the turn at the account, and its row shows that', async () => {
    await using gate = await startImages(ONE);
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
    assert.deepEqual(refused(reply), [429, 'rate_limit_exceeded', null]);
    assert.match(reply.json.error.message, /5050 tokens|50\d\d tokens/);
    const images = [PNG_URL, PNG_URL, PNG_URL].map((image_url) => ({ image_url }));
    assert.equal((await again.send(NATIVE_EDITS, { body: { model: IMAGE_MODEL, prompt: 'a', images } })).status, 429);
    assert.equal(again.upstream.turns().length, 0);
  });

  test('image requests have an admission class of their own', async () => {
    await using gate = await startImages({
      ...ONE,
      config: (draft) => {
        draft.admission = { image: { running: 1, waiting: 0, wait_ms: 0 } };
      },
    });
    gate.upstream.next('north', 'stall before headers');
    const running = askImage(gate, EDITS);
    await gate.upstream.stalled('north');
    for (const path of IMAGE_PATHS) assert.deepEqual(refused(await askImage(gate, path)), [503, 'server_is_overloaded', null]);
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
