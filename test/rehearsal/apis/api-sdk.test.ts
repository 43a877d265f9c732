// The official SDK against simulated accounts of the other APIs, without the gateway.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import OpenAI, { toFile } from 'openai';
import { PRESETS } from '../../../proxy/turn/provider/presets.ts';
import { startUpstream } from '../../support/rehearsal.ts';

const { serves, hosted_tools: hostedTools } = PRESETS.openai;
const upstream = await startUpstream({
  accounts: [
    { id: 'box', api: { api: 'chat', serves: ['turns', 'embeddings'] }, credential: 'secret' },
    { id: 'platform', api: { api: 'responses', serves, hostedTools, websocket: true, compact: 'route' }, credential: 'secret' },
  ],
});
after(() => upstream.close());
const of = (account: string): OpenAI => new OpenAI({ baseURL: upstream.urlOf(account), apiKey: 'secret', maxRetries: 0 });
const [box, platform] = [of('box'), of('platform')];
const messages = [{ role: 'user' as const, content: 'hello' }];
const lookup = { name: 'lookup', parameters: { type: 'object', properties: { a: { type: 'integer' } } } };

test('[AA88] the SDK gets completions and streams of a Chat account, with its usage', async () => {
  const whole = await box.chat.completions.create({ model: 'model-a', messages });
  assert.match(whole.choices[0]?.message.content ?? '', /answering as box\. You said: hello$/);
  const stream = box.chat.completions.stream({ model: 'model-a', messages, stream_options: { include_usage: true } });
  const streamed = await stream.finalChatCompletion();
  assert.equal(streamed.choices[0]?.message.content, whole.choices[0]?.message.content);
  assert.equal(streamed.usage?.total_tokens, (streamed.usage?.prompt_tokens ?? 0) + (streamed.usage?.completion_tokens ?? 0));
});

test('[AA89] the SDK gets calls of a Chat account, in the words of the prompt', async () => {
  const tools = [{ type: 'function' as const, function: lookup }];
  const asked = [{ role: 'user' as const, content: 'call the tool lookup with {"a":1}\ncall the tool lookup with {"a":2}' }];
  const { choices } = await box.chat.completions.stream({ model: 'model-a', messages: asked, tools }).finalChatCompletion();
  const calls = choices[0]?.message.tool_calls ?? [];
  assert.deepEqual(
    calls.map((call) => (call.type === 'function' ? call.function.arguments : '')),
    ['{"a":1}', '{"a":2}'],
  );
  assert.equal(choices[0]?.finish_reason, 'tool_calls');
  const history = calls.map(({ id }) => ({ id, type: 'function' as const, function: { name: 'lookup', arguments: '{}' } }));
  const results = calls.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'found' }));
  const call = { role: 'assistant' as const, content: null, tool_calls: history };
  const last = await box.chat.completions.create({ model: 'model-a', messages: [...asked, call, ...results], tools });
  assert.match(last.choices[0]?.message.content ?? '', /The tool answered: found$/);
});

test('[AA90] the SDK gets what a platform serves beside turns', async () => {
  const ids = (await platform.models.list()).data.map(({ id }) => id);
  assert.deepEqual(ids, ['model-a', 'model-b', 'model-mini', 'model-embed']);
  const { data, usage } = await platform.embeddings.create({ model: 'model-embed', input: ['one', 'two'], dimensions: 4 });
  assert.deepEqual([data.length, data[0]?.embedding.length, usage.prompt_tokens], [2, 4, 2]);
  assert.notDeepEqual(data[0]?.embedding, data[1]?.embedding);
  const plain = await box.embeddings.create({ model: 'model-embed', input: 'one', encoding_format: 'float' });
  assert.equal(plain.data[0]?.embedding.length, 8);
  const image = await platform.images.generate({ model: 'gpt-image-1', prompt: 'a stage' });
  assert.ok(image.data?.[0]?.b64_json);
  const png = await toFile(Buffer.from('png'), 'a.png', { type: 'image/png' });
  assert.ok((await platform.images.edit({ model: 'gpt-image-1', prompt: 'a stage', image: png })).data?.[0]?.b64_json);
  const heard = await platform.audio.transcriptions.create({
    model: 'gpt-4o-transcribe',
    file: await toFile(Buffer.from('wave'), 'a.wav'),
  });
  assert.equal(heard.text, 'a transcript of 4 bytes');
  const file = await platform.files.create({ file: await toFile(Buffer.from('text'), 'a.txt'), purpose: 'user_data' });
  assert.deepEqual([file.object, file.bytes, file.filename], ['file', 4, 'a.txt']);
  const input = [{ role: 'user' as const, content: [{ type: 'input_file' as const, file_id: file.id }] }];
  assert.equal((await platform.responses.create({ model: 'model-a', store: false, input })).status, 'completed');
  const compacted = await platform.responses.compact({ model: 'model-a', input: [{ role: 'user', content: 'hello' }] });
  assert.equal(compacted.output[0]?.type, 'compaction');
});

test('[AA90] the SDK streams turns of a platform, and gets its reasoning back as ciphertext of that account alone', async () => {
  const include = ['reasoning.encrypted_content' as const];
  const turn = { model: 'model-a', store: false, include, reasoning: { effort: 'low' as const, summary: 'auto' as const } };
  const streamed = await platform.responses.stream({ ...turn, input: [{ role: 'user', content: 'hello' }] }).finalResponse();
  assert.match(streamed.output_text, /answering as platform/);
  const response = await platform.responses.create({ ...turn, input: [{ role: 'user', content: 'hello' }] });
  assert.match(response.output_text, /answering as platform/);
  const [thought] = response.output;
  assert.equal(thought?.type, 'reasoning');
  const input = [...response.output.map((item) => item as OpenAI.Responses.ResponseInputItem), { role: 'user' as const, content: 'and?' }];
  assert.equal((await platform.responses.create({ ...turn, input })).status, 'completed');
  const foreign = input.map((item) => ('encrypted_content' in item ? { ...item, encrypted_content: 'gAAAAABo' } : item));
  await assert.rejects(platform.responses.create({ ...turn, input: foreign }), { code: 'invalid_encrypted_content', status: 400 });
});

test('[AA88] a wrong credential, an unknown model and a path of the other API are refused', async () => {
  const stranger = new OpenAI({ baseURL: upstream.urlOf('box'), apiKey: 'wrong', maxRetries: 0 });
  await assert.rejects(stranger.models.list(), { status: 401, code: 'invalid_api_key' });
  await assert.rejects(box.chat.completions.create({ model: 'model-z', messages }), { status: 404, code: 'model_not_found' });
  await assert.rejects(box.responses.create({ model: 'model-a', input: 'hello' }), { status: 404 });
});
