// Simulated images, over real sockets: the hosted tool inside a turn, and the native image routes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at, itemsOf, typesOf } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const upstream = await startUpstream();
after(() => upstream.close());
const north = upstream.urlOf('north');

const tool = { type: 'image_generation', model: 'gpt-image-1', size: '64x64' };
const GENERATIONS = '/backend-api/agent/images/generations';
const EDITS = '/backend-api/agent/images/edits';

test('the image is a PNG of one pixel', () => {
  const bytes = Buffer.from(PNG, 'base64');
  assert.equal(bytes.toString('latin1', 0, 8), '\x89PNG\r\n\x1a\n');
  assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [1, 1]);
});

test('a required image tool is called with the prompt, in the events of a provider', async () => {
  const { events } = await ask(north, turnBody('a cat', { tools: [tool], tool_choice: 'required' }));
  assert.deepEqual(
    typesOf(events).filter((type) => String(type).includes('image')),
    [
      'response.image_generation_call.in_progress',
      'response.image_generation_call.generating',
      'response.image_generation_call.partial_image',
    ],
  );
  const response = events.at(-1)?.response;
  const call = itemsOf(events).at(-1);
  assert.deepEqual([at(call, 'type'), at(call, 'status'), at(call, 'result')], ['image_generation_call', 'generating', PNG]);
  assert.deepEqual([at(call, 'revised_prompt'), at(call, 'size')], ['A rehearsal of: a cat', '64x64']);
  assert.equal(at(response, 'tool_usage', 'image_gen', 'output_tokens'), 272);
});

test('a line of the message asks for an image, or for a call without one', async () => {
  const drawn = await ask(north, turnBody('draw: a dog', { tools: [tool] }));
  assert.equal(at(itemsOf(drawn.events), 1, 'revised_prompt'), 'A rehearsal of: a dog');
  const failed = await ask(north, turnBody('draw nothing', { tools: [tool], tool_choice: 'required' }));
  const call = at(itemsOf(failed.events), 1);
  assert.deepEqual([at(call, 'status'), at(call, 'result')], ['failed', null]);
  assert.equal(at(failed.events.at(-1)?.response, 'tool_usage'), undefined);
  const undeclared = await ask(north, turnBody('draw: a dog'));
  assert.equal(at(itemsOf(undeclared.events), 1, 'type'), 'message');
});

test('the native routes answer in JSON or as a stream, and follow the script of a request', async () => {
  const { status, json } = await ask(north, { model: 'gpt-image-1', prompt: 'a cat', quality: 'high' }, {}, GENERATIONS);
  assert.deepEqual([status, at(json, 'data', '0', 'b64_json'), at(json, 'quality')], [200, PNG, 'high']);
  const edit = { prompt: 'a hat', images: [{ image_url: `data:image/png;base64,${PNG}` }] };
  const stream = await ask(north, { ...edit, stream: true }, {}, EDITS);
  assert.deepEqual(typesOf(stream.events), ['image_edit.partial_image', 'image_edit.completed']);
  const scripted = await ask(north, { prompt: 'a cat', metadata: { rehearse: 'refuse 503' } }, {}, GENERATIONS);
  assert.equal(scripted.status, 503);
});

test('a native body without what its route needs is refused with the name of the missing member', async () => {
  for (const [path, body, param] of [
    [GENERATIONS, {}, 'prompt'],
    [EDITS, { prompt: 'a hat' }, 'images'],
    [EDITS, { prompt: 'a hat', images: [] }, 'images'],
  ] as const) {
    const { status, json } = await ask(north, body, {}, path);
    assert.deepEqual([status, at(json, 'error', 'param')], [400, param]);
  }
});

test('a model whose name no header can have is answered without that header', async () => {
  for (const model of ['a\u0000b', '模型', 'a\r\nset-cookie: b']) {
    const { status, headers } = await ask(north, { model, prompt: 'a cat' }, {}, GENERATIONS);
    assert.deepEqual([status, headers.get('openai-model'), headers.get('set-cookie')?.startsWith('rehearsal=')], [200, null, true]);
  }
});
