// The services of Responses accounts other than turns: compaction, images, transcription, files (AA34 to AA37).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../../proxy/turn/json/json.ts';
import { answers, numbered, type Platform, refuses, streams, textEvents } from '../../../providers/responses/platform.ts';
import { type ResponsesStage, responsesStage } from '../../../providers/responses/responses-stage.ts';
import { FORM_TYPE, formOf, type Part } from '../../../support/form.ts';
import { type Reply, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { userMessage } from '../../../support/native-frames.ts';
import { eventsOf } from '../../../support/network/sse-events.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';
import { upload } from '../../../support/stages/files.ts';
import { imagePart, PNG_URL } from '../../../support/stages/images.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';

const PNG = PNG_URL.slice('data:image/png;base64,'.length);

let stage: ResponsesStage;
let platform: Platform;
let gate: TestGateway;
before(async () => {
  stage = await responsesStage({
    account: {
      id: 'platform',
      preset: 'openai',
      credential: { bearer: { env: 'BEARER_PLATFORM' } },
      models: { 'model-a': 'own-a', 'image-x': 'image-a', 'gpt-4o-transcribe': 'own-whisper' },
    },
  });
  ({ gate, platform } = stage);
});
after(() => stage.close());
beforeEach(() => stage.clear());

const COMPACTION = { id: 'cmp_1', type: 'compaction', encrypted_content: 'cipher' };
const COMPACTED = {
  id: 'resp_c',
  object: 'response.compaction',
  created_at: 1_700_000_000,
  output: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }, COMPACTION],
  usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 },
};
const TRIGGER = { type: 'compaction_trigger' };

describe('compaction (AA34)', () => {
  test('[AA34] `route` sends model, input and instructions to the compact path', async () => {
    platform.next.push(answers(200, COMPACTED));
    const reply = await gate.send(`${NATIVE}/compact`, { body: { ...turnBody('hi'), instructions: 'be brief', tools: [], store: false } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.json, COMPACTED);
    const [request] = platform.requests;
    assert.equal(request?.path, '/v1/responses/compact');
    assert.deepEqual(request?.json, {
      model: 'own-a',
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
      instructions: 'be brief',
    });
  });

  test('[AA34] a public compaction gets the completed response with the item', async () => {
    platform.next.push(answers(200, COMPACTED));
    const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input: [userMessage('hi'), TRIGGER] } });
    assert.deepEqual([reply.status, reply.json.output], [200, [COMPACTION]], reply.text);
    assert.equal(platform.requests[0]?.json.input.length, 1);
  });

  test('[AA48] a native turn that ends in a trigger gets the answer of the compact path as events', async () => {
    platform.next.push(answers(200, COMPACTED));
    const reply = await gate.send(NATIVE, { body: { ...turnBody('hi'), input: [userMessage('hi'), TRIGGER] } });
    assert.equal(reply.status, 200, reply.text);
    const events = eventsOf(reply.text);
    assert.deepEqual(
      events.map(({ data }) => data.type),
      ['response.created', 'response.in_progress', 'response.output_item.added', 'response.output_item.done', 'response.completed'],
    );
    assert.deepEqual(events.at(-1)?.data.response.output, [COMPACTION]);
    assert.equal(platform.requests[0]?.path, '/v1/responses/compact');
  });

  test('[AA34] an answer of the compact path without a compaction is no answer', async () => {
    platform.next.push(answers(200, { ...COMPACTED, output: [] }));
    const reply = await gate.send(`${NATIVE}/compact`, { body: turnBody('hi') });
    assert.deepEqual([reply.status, reply.json.error.code], [502, 'invalid_compaction_response']);
  });
});

describe('images (AA35)', () => {
  const IMAGE = {
    created: 1_700_000_000,
    data: [{ b64_json: PNG, revised_prompt: 'a better cat' }],
    usage: { input_tokens: 4, output_tokens: 9, total_tokens: 13 },
  };

  test('[AA35] a generation goes to the path of images with the members of the request', async () => {
    platform.next.push(answers(200, IMAGE));
    const body = { model: 'image-x', prompt: 'a cat', size: '1024x1024', quality: 'low', output_compression: 50 };
    const reply = await gate.send('/v1/images/generations', { body });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(reply.json, { created: IMAGE.created, data: [{ b64_json: PNG, revised_prompt: 'a better cat' }], usage: IMAGE.usage });
    const [request] = platform.requests;
    assert.equal(request?.path, '/v1/images/generations');
    assert.deepEqual(request?.json, { model: 'image-a', prompt: 'a cat', n: 1, size: '1024x1024', quality: 'low', output_compression: 50 });
  });

  test('[AA35] an edit goes out as a form with the images and the mask', async () => {
    platform.next.push(answers(200, IMAGE));
    const parts: readonly Part[] = [
      { name: 'model', value: 'image-x' },
      { name: 'prompt', value: 'a hat' },
      imagePart('image[]'),
      imagePart('image[]'),
      imagePart('mask'),
    ];
    const reply = await sendForm('/v1/images/edits', parts);
    assert.equal(reply.status, 200, reply.text);
    const [request] = platform.requests;
    assert.equal(request?.path, '/v1/images/edits');
    const form = request?.body.toString('latin1') ?? '';
    const names = [...form.matchAll(/ name="([^"]+)"/g)].map(([, name]) => name);
    assert.deepEqual(names, ['model', 'prompt', 'n', 'image[]', 'image[]', 'mask']);
    assert.ok(form.includes('image-a') && form.includes('Content-Type: image/png'));
  });

  test('[AA35] an answer without an image is image_generation_failed', async () => {
    platform.next.push(answers(200, { created: 1, data: [] }));
    const reply = await gate.send('/v1/images/generations', { body: { model: 'image-x', prompt: 'a cat' } });
    assert.deepEqual([reply.status, reply.json.error.code], [502, 'image_generation_failed']);
  });

  test('[AA35] a native image request passes with the model mapped', async () => {
    platform.next.push(answers(200, IMAGE));
    const reply = await gate.send('/backend-api/agent/images/generations', { body: { model: 'image-x', prompt: 'a cat', odd: 1 } });
    assert.deepEqual([reply.status, reply.json], [200, IMAGE], reply.text);
    const [request] = platform.requests;
    assert.deepEqual([request?.path, request?.json], ['/v1/images/generations', { model: 'image-a', prompt: 'a cat', odd: 1 }]);
  });
});

const sendForm = (path: string, parts: readonly Part[]): Promise<Reply> =>
  gate.send(path, { body: formOf(parts), headers: { 'content-type': FORM_TYPE } });

describe('transcription (AA36)', () => {
  const FILE: Part = { name: 'file', filename: 'a.wav', type: 'audio/wav', value: Buffer.from('RIFF') };

  test('[AA36] [AA16] the form goes out with the mapped model, without hints, which the row of the attempt names', async () => {
    platform.next.push(answers(200, { text: 'hello', language: 'en', usage: { type: 'tokens', input_tokens: 5, output_tokens: 2 } }));
    const parts: readonly Part[] = [
      { name: 'model', value: 'gpt-transcribe' },
      { name: 'keywords[]', value: 'sky' },
      { name: 'languages', value: 'en' },
      { name: 'temperature', value: '0' },
      FILE,
      { name: 'language', value: 'en' },
      { name: 'keywords[]', value: 'sea' },
    ];
    const reply = await sendForm('/v1/audio/transcriptions', parts);
    assert.deepEqual([reply.status, reply.json.text], [200, 'hello'], reply.text);
    const [request] = platform.requests;
    assert.equal(request?.path, '/v1/audio/transcriptions');
    const form = request?.body.toString('latin1') ?? '';
    assert.deepEqual(
      [...form.matchAll(/ name="([^"]+)"/g)].map(([, name]) => name),
      ['model', 'temperature', 'file', 'language'],
    );
    assert.ok(form.includes('own-whisper') && form.includes('RIFF'));
    assert.equal(request?.headers['x-openai-thing'], undefined);
    const [attempt] = await gate.attempts(reply.headers.get('x-request-id') ?? '');
    assert.equal(attempt?.adapted, 'keywords,languages');
  });

  test('[AA36] so does a native transcription', async () => {
    platform.next.push(answers(200, { text: 'hello' }));
    const reply = await sendForm('/backend-api/transcribe', [FILE]);
    assert.deepEqual([reply.status, reply.json.text], [200, 'hello'], reply.text);
    assert.ok(platform.requests[0]?.body.toString('latin1').includes('own-whisper'));
  });
});

describe('files (AA37)', () => {
  test('[AA37] a file goes out in one form, and its turns go to its account', async () => {
    platform.next.push(
      answers(200, { id: 'file-1', object: 'file', bytes: 19, created_at: 1_700_000_000, filename: 'notes.txt', purpose: 'user_data' }),
    );
    const file = await upload(gate);
    assert.equal(file.status, 200, file.text);
    assert.deepEqual([file.json.id, file.json.filename, file.json.bytes, file.json.status], ['file-1', 'notes.txt', 19, 'processed']);
    const [request] = platform.requests;
    assert.equal(request?.path, '/v1/files');
    const form = request?.body.toString('latin1') ?? '';
    assert.deepEqual(
      [...form.matchAll(/ name="([^"]+)"/g)].map(([, name]) => name),
      ['purpose', 'file'],
    );
    assert.ok(form.includes('user_data') && form.includes('the bytes of a file') && form.includes('filename="notes.txt"'));
    platform.next.push(streams(textEvents('read it')));
    const input = [
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'read' },
          { type: 'input_file', file_id: 'file-1' },
        ],
      },
    ];
    const reply = await gate.send(PUBLIC, { body: { model: 'model-a', input } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(platform.requests.at(-1)?.json.input[0].content[1], { type: 'input_file', file_id: 'file-1' });
  });

  test('[AA37] a refused file is reported as a refused file', async () => {
    platform.next.push(refuses(400, { message: 'Invalid purpose.', param: 'purpose', code: 'invalid_value' }));
    const file = await upload(gate);
    assert.deepEqual([file.status, file.json.error.code], [400, 'invalid_value']);
  });
});

/** A turn of the image tool, as the public API streams it. */
const hosted = (): readonly JsonObject[] => {
  const call = { id: 'ig_1', type: 'image_generation_call', status: 'completed', result: PNG };
  const response = { id: 'resp_i', object: 'response', created_at: 1_700_000_000, status: 'in_progress', output: [] };
  return numbered([
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item: { ...call, status: 'in_progress', result: undefined } },
    { type: 'response.output_item.done', output_index: 0, item: call },
    { type: 'response.completed', response: { ...response, status: 'completed', output: [call], usage: null } },
  ]);
};

test('[AA35] with the hosted tool alone an image is the work of a turn', async () => {
  await using other = await startGateway({
    upstream: { accounts: ['platform'] },
    config(draft) {
      draft.accounts[0] = {
        id: 'platform',
        api: 'responses',
        base_url: platform.url,
        credential: { bearer: { env: 'BEARER_PLATFORM' } },
        hosted_tools: ['image_generation'],
        models: { 'model-a': 'own-a' },
      };
      draft.pools[0].image_host_model = 'model-a';
    },
  });
  platform.next.push(streams(hosted()));
  const reply = await other.send('/v1/images/generations', { body: { model: 'gpt-image-1', prompt: 'a cat' } });
  assert.deepEqual([reply.status, reply.json.data], [200, [{ b64_json: PNG }]], reply.text);
  const { json, path } = platform.requests[0] ?? assert.fail();
  assert.deepEqual(
    [path, json.model, json.tools, json.tool_choice],
    ['/v1/responses', 'own-a', [{ type: 'image_generation', model: 'gpt-image-1' }], 'required'],
  );
});
