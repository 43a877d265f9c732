// A reload can add an account of an API that no account had before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { HELLO, streamed } from '../chat/completions.ts';
import { startPlatform } from '../responses/platform.ts';

test('an account of another API serves turns after the reload that adds it', async (context) => {
  const platform = await startPlatform();
  context.after(() => platform.close());
  await using gate = await startGateway();
  const turn = () => gate.send('/v1/responses', { body: { model: 'model-late', input: 'hi' } });
  assert.equal((await turn()).status, 400, 'no account has the model');
  await gate.reconfigure((draft) => {
    const server = { preset: 'vllm', credential: 'none', base_url: platform.url, read_models: false };
    draft.accounts.push({ id: 'late', ...server, catalog: [{ id: 'model-late', context_window: 100_000 }] });
    draft.pools[0].assignments.push({ account: 'late' });
  });
  platform.next.push(streamed(HELLO));
  const reply = await turn();
  assert.equal(reply.status, 200, reply.text);
  assert.equal(platform.requests.length, 1);
});
