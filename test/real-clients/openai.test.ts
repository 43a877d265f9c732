// The official OpenAI SDK against the compatible surface: streams, collected answers, models, errors as its own classes, retries.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';
import { PNG } from '../../proxy/rehearsal/model/simulated-image.ts';
import { KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { replyEvents } from '../support/rehearsal-replies.ts';
import { IMAGE_MODEL, PNG_BYTES, PNG_URL, sent, startImages } from '../support/stages/images.ts';

const clientOf = (gate: TestGateway, options: ConstructorParameters<typeof OpenAI>[0] = {}): OpenAI =>
  new OpenAI({ apiKey: KEY, baseURL: `${gate.url}/v1`, maxRetries: 0, ...options });

const ask = { model: 'model-a', input: 'say: hello there' } as const;

test('a response is collected', async () => {
  await using gate = await startGateway();
  const response = await clientOf(gate).responses.create(ask);
  assert.equal(response.status, 'completed');
  assert.equal(response.model, 'model-a');
  assert.equal(response.output_text, 'hello there');
  assert.equal(response.error, null);
  assert.ok((response.usage?.output_tokens ?? 0) > 0);
  assert.match(response._request_id ?? '', /^req_/);
});

test('a response is streamed, every event of it in order', async () => {
  await using gate = await startGateway();
  const stream = await clientOf(gate).responses.create({ ...ask, stream: true });
  const types: string[] = [];
  const numbers: number[] = [];
  let text = '';
  for await (const event of stream) {
    types.push(event.type);
    numbers.push(event.sequence_number);
    if (event.type === 'response.output_text.delta') text += event.delta;
  }
  assert.equal(text, 'hello there');
  assert.deepEqual(numbers, [...numbers.keys()]);
  assert.equal(types[0], 'response.created');
  assert.equal(types.at(-1), 'response.completed');
});

test('the stream helper follows a response with tools to its end', async () => {
  await using gate = await startGateway();
  const stream = clientOf(gate).responses.stream({
    ...ask,
    input: 'call the tool get_weather with {"city":"Oslo"}',
    instructions: 'Be brief.',
    tools: [
      { type: 'function', name: 'get_weather', strict: false, parameters: { type: 'object', properties: { city: { type: 'string' } } } },
    ],
  });
  const seen = new Set<string>();
  stream.on('event', ({ type }) => void seen.add(type));
  const response = await stream.finalResponse();
  const call = response.output.find((item) => item.type === 'function_call');
  assert.deepEqual([call?.name, call?.arguments], ['get_weather', '{"city":"Oslo"}']);
  assert.ok(seen.has('response.function_call_arguments.delta'));
  const sent = gate.upstream.turns()[0]?.json as { instructions?: string; stream: boolean };
  assert.ok(sent.instructions?.includes('Be brief.') || JSON.stringify(sent).includes('Be brief.'));
  assert.equal(sent.stream, true);
});

test('structured output is parsed by the helper', async () => {
  await using gate = await startGateway();
  const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false };
  const response = await clientOf(gate).responses.parse({
    ...ask,
    input: 'anything',
    text: { format: { type: 'json_schema', name: 'answer', strict: true, schema } },
  });
  assert.deepEqual(response.output_parsed, { ok: true });
});

test('an image is generated, and its usage is the image’s', async () => {
  await using gate = await startImages();
  const { created, data, usage } = await clientOf(gate).images.generate({ model: IMAGE_MODEL, prompt: 'a cat', size: '1024x1024', n: 1 });
  assert.ok(created > 0);
  assert.deepEqual(data, [{ b64_json: PNG, revised_prompt: 'A rehearsal of: a cat' }]);
  assert.equal(usage?.output_tokens, 272);
});

test('images are edited: one, several, and with a mask', async () => {
  await using gate = await startImages();
  const { images } = clientOf(gate);
  const file = (name: string): Promise<File> => OpenAI.toFile(PNG_BYTES, name, { type: 'image/png' });
  const common = { model: IMAGE_MODEL, prompt: 'a hat' } as const;
  for (const [sources, mask] of [
    [await file('a.png'), undefined],
    [[await file('a.png'), await file('b.png')], undefined],
    [await file('a.png'), await file('mask.png')],
    // This file has no type, like a stream from a disk.
    [await OpenAI.toFile(PNG_BYTES, 'a'), undefined],
  ] as const) {
    const { data } = await images.edit({ ...common, image: sources as File | File[], ...(mask ? { mask } : {}) });
    assert.equal(data?.[0]?.b64_json, PNG);
    const body = sent(gate);
    const count = Array.isArray(sources) ? sources.length : 1;
    assert.deepEqual(body.input[0].content.slice(1), Array(count).fill({ type: 'input_image', image_url: PNG_URL }));
    assert.deepEqual(body.tools[0].input_image_mask, mask && { image_url: PNG_URL });
  }
});

test('an image that was not made is an error that is not retried', async () => {
  await using gate = await startImages();
  await assert.rejects(clientOf(gate, { maxRetries: 2 }).images.generate({ model: IMAGE_MODEL, prompt: 'draw nothing' }), (error) => {
    assert.ok(error instanceof OpenAI.InternalServerError);
    assert.deepEqual([error.status, error.code], [502, 'image_generation_failed']);
    return true;
  });
  assert.equal(gate.upstream.turns().length, 1);
});

test('models are listed', async () => {
  await using gate = await startGateway();
  const page = await clientOf(gate).models.list();
  const ids: string[] = [];
  for await (const model of page) {
    assert.equal(model.object, 'model');
    ids.push(model.id);
  }
  assert.ok(ids.includes('model-a'));
});

test('files are uploaded, listed and retrieved, and a turn reads one; content and deletion are not found', async () => {
  await using gate = await startGateway();
  const client = clientOf(gate);
  const ids: string[] = [];
  for (const name of ['one.txt', 'two.txt', 'three.txt']) {
    const file = await client.files.create({ file: await OpenAI.toFile(Buffer.from(`the text of ${name}`), name), purpose: 'user_data' });
    assert.deepEqual(
      [file.object, file.filename, file.bytes, file.purpose, file.status],
      ['file', name, 12 + name.length, 'user_data', 'processed'],
    );
    ids.unshift(file.id);
  }
  const listed: string[] = [];
  for await (const { id } of client.files.list({ limit: 2 })) listed.push(id);
  assert.deepEqual(listed, ids);
  const [id = ''] = ids;
  assert.equal((await client.files.retrieve(id)).filename, 'three.txt');
  const content = [
    { type: 'input_text', text: 'say: read' },
    { type: 'input_file', file_id: id },
  ] as const;
  const response = await client.responses.create({ model: 'model-a', input: [{ role: 'user', content: [...content] }] });
  assert.equal(response.status, 'completed');
  await assert.rejects(async () => void (await client.files.content(id)), OpenAI.NotFoundError);
  await assert.rejects(async () => void (await client.files.delete(id)), OpenAI.NotFoundError);
  const unknown = client.responses.create({
    model: 'model-a',
    input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-x' }] }],
  });
  await assert.rejects(
    async () => void (await unknown),
    (error) => error instanceof OpenAI.NotFoundError && error.code === 'file_not_found' && error.param === 'input.0.content.0.file_id',
  );
});

test('audio is transcribed, its fields before or after the file', async () => {
  await using gate = await startGateway();
  const client = clientOf(gate);
  const sound = Buffer.alloc(300_000, 'v');
  const transcript = await client.audio.transcriptions.create({
    file: await OpenAI.toFile(sound, 'voice.wav'),
    model: 'gpt-4o-transcribe',
    language: 'en',
    prompt: 'names',
    temperature: 0.2,
  });
  assert.equal(transcript.text, 'a transcript of 300000 bytes');
  assert.ok(!('language' in transcript));
  const text = await client.audio.transcriptions.create({
    file: await OpenAI.toFile(sound, 'a.wav'),
    model: 'gpt-transcribe',
    response_format: 'text',
  });
  assert.equal(text, 'a transcript of 300000 bytes');
  await assert.rejects(
    async () => void (await client.audio.transcriptions.create({ file: await OpenAI.toFile(sound, 'a.wav'), model: 'whisper-1' })),
    (error) => error instanceof OpenAI.BadRequestError && error.code === 'invalid_model' && error.param === 'model',
  );
  await assert.rejects(
    async () =>
      void (await client.audio.transcriptions.create({
        file: await OpenAI.toFile(sound, 'a.wav'),
        model: 'gpt-4o-transcribe',
        stream: true,
      })),
    (error) => error instanceof OpenAI.BadRequestError && error.code === 'unsupported_parameter' && error.param === 'stream',
  );
});

test('our refusals are its error classes, with code, param and request id', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.keys[0].models = ['model-a'];
      draft.limits = { request_body_bytes: 10_000 };
    },
  });
  const client = clientOf(gate);
  const CASES = [
    [() => clientOf(gate, { apiKey: 'pg-unknown' }).models.list(), OpenAI.AuthenticationError, 401, 'invalid_api_key', null],
    [() => client.responses.create({ ...ask, model: 'model-b' }), OpenAI.PermissionDeniedError, 403, 'model_not_allowed', 'model'],
    [() => client.responses.create({ ...ask, background: true }), OpenAI.BadRequestError, 400, 'unsupported_parameter', 'background'],
    [() => client.embeddings.create({ model: 'e', input: 'x' }), OpenAI.NotFoundError, 404, 'unsupported_endpoint', null],
    [() => client.responses.retrieve('resp_1'), OpenAI.NotFoundError, 404, 'unsupported_endpoint', null],
    [() => client.get('/nowhere'), OpenAI.NotFoundError, 404, 'unknown_endpoint', null],
    [() => client.responses.create({ ...ask, input: 'a'.repeat(20_000) }), OpenAI.APIError, 413, 'request_too_large', null],
  ] as const;
  for (const [call, type, status, code, param] of CASES) {
    await assert.rejects(
      async () => void (await call()),
      (error) => {
        assert.ok(error instanceof type, code);
        assert.ok(error instanceof OpenAI.APIError);
        assert.deepEqual([error.status, error.code, error.param], [status, code, param]);
        assert.match(error.requestID ?? '', /^req_/);
        return true;
      },
    );
  }
  assert.equal(gate.upstream.turns().length, 0);
});

test('failures of accounts are its error classes too', async () => {
  const CASES = [
    ['refuse 500', OpenAI.InternalServerError, 502, 'upstream_error'],
    ['refuse 422 invalid_value', OpenAI.UnprocessableEntityError, 422, 'invalid_value'],
    ['refuse 429 rate_limit_exceeded retry 1', OpenAI.RateLimitError, 429, 'rate_limit_exceeded'],
    ['refuse 429 usage_limit_reached resets 3600', OpenAI.RateLimitError, 429, 'usage_limit_reached'],
  ] as const;
  for (const [script, type, status, code] of CASES) {
    await using gate = await startGateway({ upstream: { accounts: ['north'] } });
    gate.upstream.always('north', script);
    await assert.rejects(clientOf(gate).responses.create(ask), (error) => {
      assert.ok(error instanceof type, script);
      assert.deepEqual([error.status, error.code], [status, code]);
      return true;
    });
  }
});

test('[Q17] a stream that is refused inside a 200 is thrown with its reason, by the iterator and by the stream helper', async () => {
  for (const [code, type] of [
    ['invalid_prompt', 'invalid_request_error'],
    ['server_is_overloaded', 'server_error'],
  ] as const) {
    for (const as of ['failed', 'error']) {
      await using gate = await startGateway({ upstream: { accounts: ['north'] } });
      gate.upstream.always('north', `refuse inside ${code} as ${as}`);
      const refused = (error: unknown): boolean => {
        assert.ok(error instanceof OpenAI.APIError, String(error));
        assert.deepEqual([error.code, error.type], [code, type]);
        return true;
      };
      const client = clientOf(gate);
      await assert.rejects(client.responses.stream(ask).finalResponse(), refused);
      await assert.rejects(async () => {
        for await (const event of await client.responses.create({ ...ask, stream: true })) assert.fail(event.type);
      }, refused);
    }
  }
});

test('a stream that breaks off is thrown as an error, and not mistaken for the end', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  gate.upstream.next('north', 'reset after 6 events');
  const stream = await clientOf(gate).responses.create({ ...ask, stream: true });
  const types: string[] = [];
  await assert.rejects(
    async () => {
      for await (const { type } of stream) types.push(type);
    },
    (error) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.equal(error.code, 'server_error');
      return true;
    },
  );
  assert.ok(types.length > 2);
});

test('a refusal inside a stream reaches its reader', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  gate.upstream.next('north', replyEvents([{ type: 'error', code: 'invalid_prompt', message: 'no', param: null }]));
  const stream = await clientOf(gate).responses.create({ ...ask, stream: true });
  await assert.rejects(
    async () => {
      for await (const event of stream) assert.fail(event.type);
    },
    (error) => {
      assert.ok(error instanceof OpenAI.APIError);
      assert.equal(error.code, 'invalid_prompt');
      return true;
    },
  );
});

test('it retries temporary failures, and not those with x-should-retry: false', async () => {
  const CASES = [
    // A failing account may recover, so the SDK makes its own two retries.
    ['refuse 500', 3],
    ['refuse 429 rate_limit_exceeded retry 0', 3],
    // The quota is exhausted for an hour, or the limit lasts longer than a client should wait, so x-should-retry is false.
    ['refuse 429 usage_limit_reached resets 3600', 1],
    ['refuse 429 rate_limit_exceeded retry 120', 1],
    // The request itself is invalid.
    ['refuse 422 invalid_value', 1],
  ] as const;
  for (const [script, requests] of CASES) {
    await using gate = await startGateway({ upstream: { accounts: ['north'] } });
    gate.upstream.always('north', script);
    let asked = 0;
    const counting: typeof fetch = (input, init) => {
      asked += 1;
      return fetch(input, init);
    };
    await assert.rejects(clientOf(gate, { maxRetries: 2, fetch: counting }).responses.create(ask));
    assert.equal(asked, requests, script);
  }
});

test('an abort ends the turn at the account', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  gate.upstream.next('north', 'stall after 6 events');
  const stream = await clientOf(gate).responses.create({ ...ask, stream: true });
  await gate.upstream.stalled('north');
  stream.controller.abort();
  const [turn] = await gate.upstream.arrived(1);
  assert.equal(await turn?.closed, 'left');
});
