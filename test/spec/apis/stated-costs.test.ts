// The cost that an account states for a turn replaces the cost by its price, for keys and for the caps of tiers (AA14, AA69).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { finish, streamed, text, USAGE, usageChunk } from '../../providers/chat/completions.ts';
import { type Platform, startPlatform, streams, textEvents } from '../../providers/responses/platform.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';

const PRICES = { input: 1, cached_input: 1, output: 1 };

let platform: Platform;
let gate: TestGateway;
before(async () => {
  platform = await startPlatform();
  const account = (id: string, api: string, model: string, quirks: JsonObject): JsonObject => ({
    ...{ id, api, base_url: platform.url, insecure_http: false, credential: { bearer: { env: `BEARER_${id.toUpperCase()}` } }, quirks },
    catalog: [{ id: model, context_window: 100_000, prices: { ...PRICES } }],
  });
  gate = await startGateway({
    upstream: { accounts: ['box', 'plain', 'remote'] },
    config(draft) {
      draft.accounts = [
        account('box', 'chat', 'model-a', { cost_in_usage: true }),
        account('plain', 'chat', 'model-b', {}),
        account('remote', 'responses', 'model-c', { cost_in_usage: true }),
      ];
    },
  });
});
after(() => Promise.all([gate.close(), platform.close()]));
beforeEach(() => platform.clear());

/** The USD that a turn adds to the cost of its key. */
async function costOf(model: string): Promise<number> {
  const total = async (): Promise<number> => (await gate.send('/v1/usage', { method: 'GET' })).json.total_cost_usd;
  const before = await total();
  const reply = await gate.send('/v1/responses', { body: { model, input: 'hi' } });
  assert.equal(reply.status, 200, reply.text);
  await gate.row(reply);
  return Number(((await total()) - before).toFixed(9));
}

const chatReply = (cost: unknown) => streamed([text('Hi'), finish('stop'), usageChunk({ ...USAGE, cost } as JsonObject), '[DONE]']);

/** The expected cost at the prices of the model. */
const { prompt_tokens, completion_tokens } = USAGE as { prompt_tokens: number; completion_tokens: number };
const PRICED = (prompt_tokens + completion_tokens) / 1e6;

test('[AA14] a Chat account with cost_in_usage is settled at the cost that it states', async () => {
  platform.next.push(chatReply(0.25));
  assert.equal(await costOf('model-a'), 0.25);
});

for (const cost of [undefined, -1, 1e300, '0.25', null]) {
  test(`[AA14] a stated cost of ${JSON.stringify(cost)} is none: the price counts`, async () => {
    platform.next.push(chatReply(cost));
    assert.equal(await costOf('model-a'), PRICED);
  });
}

test('[AA14] without the quirk a stated cost is not read', async () => {
  platform.next.push(chatReply(0.25));
  assert.equal(await costOf('model-b'), PRICED);
});

test('[AA14] a Responses account with cost_in_usage is settled in the same way', async () => {
  const events = textEvents('Hi').map((event) => {
    const response = event.response as JsonObject | undefined;
    return event.type === 'response.completed'
      ? { ...event, response: { ...response, usage: { ...(response?.usage as JsonObject), cost: 0.5 } } }
      : event;
  });
  platform.next.push(streams(events));
  assert.equal(await costOf('model-c'), 0.5);
});
