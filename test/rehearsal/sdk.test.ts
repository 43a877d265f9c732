// The official SDK against an account of the rehearsal provider, without the gateway.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import OpenAI from 'openai';
import { startUpstream } from '../support/rehearsal.ts';

const upstream = await startUpstream({ accounts: ['north'], strict: false });
after(() => upstream.close());
const client = new OpenAI({ baseURL: `${upstream.urlOf('north')}/backend-api/agent`, apiKey: 'none', maxRetries: 0 });
const tools = [{ type: 'function' as const, name: 'lookup', strict: false, parameters: { type: 'object', properties: {} } }];

test('the SDK streams a turn', async () => {
  const stream = client.responses.stream({ model: 'model-a', input: 'hello', reasoning: { summary: 'auto' } });
  let text = '';
  stream.on('response.output_text.delta', ({ delta }) => {
    text += delta;
  });
  const response = await stream.finalResponse();
  assert.match(text, /^This is the rehearsal provider answering as north\. You said: hello$/);
  assert.equal(response.output_text, text);
});

test('the SDK collects a turn and its tool calls', async () => {
  assert.match((await client.responses.create({ model: 'model-a', input: 'hello' })).output_text, /rehearsal/);
  const stream = client.responses.stream({ model: 'model-a', input: 'call the tool lookup with {"a":1}', tools });
  const call = (await stream.finalResponse()).output[0];
  assert.deepEqual([call?.type, call?.type === 'function_call' ? call.arguments : ''], ['function_call', '{"a":1}']);
});

test('the SDK recognises the errors', async () => {
  upstream.next('north', 'refuse 429 retry 1');
  await assert.rejects(
    client.responses.create({ model: 'model-a', input: 'hello' }),
    (error) => error instanceof OpenAI.RateLimitError && error.code === 'rate_limit_exceeded',
  );
});
