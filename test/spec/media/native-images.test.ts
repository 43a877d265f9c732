// Images over the wire: the native proxy, the permission, and the models that a request may name.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { bearerOf, type Draft } from '../../support/gateway.ts';
import { headOf, RawClient } from '../../support/network/raw.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyJson } from '../../support/rehearsal-replies.ts';
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
} from '../../support/stages/images.ts';

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
    await using gate = await startImages(ONE_ACCOUNT);
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
      assert.deepEqual(refusedAt(reply), [415, 'unsupported_media_type', null], type);
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
        assert.deepEqual(refusedAt(reply), [403, 'image_generation_disabled', null]);
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
        assert.deepEqual(refusedAt(reply), [401, 'invalid_api_key', null]);
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
    assert.deepEqual(refusedAt(await gate.send('/v1/images/variations', { body: {} })), [404, 'unsupported_endpoint', null]);
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
      assert.deepEqual(refusedAt(await askImage(gate, path, 'model-a')), [403, 'model_not_allowed', 'model']);
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
        assert.deepEqual(refusedAt(await gate.send(path, path === EDITS ? form : { body })), [400, 'invalid_model', 'model']);
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
      for (const path of IMAGE_PATHS) assert.deepEqual(refusedAt(await askImage(gate, path, model)), [400, 'invalid_model', 'model'], path);
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
      assert.deepEqual(refusedAt(reply), [400, 'invalid_model', 'model']);
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
      for (const path of IMAGE_PATHS) assert.deepEqual(refusedAt(await askImage(gate, path)), [503, 'no_eligible_account', null], path);
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
