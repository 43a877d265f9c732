// The cost of a turn at accounts of other APIs: the price that counts against the cap of a tier (AA70), and what the limit of a key
// reserves and settles (AA71).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { failure } from '../../../accounts/health/support.ts';
import { finish, streamed, text, usageChunk } from '../../../providers/chat/completions.ts';
import { answers, type Platform, type PlatformAnswer, startPlatform, streams, textEvents } from '../../../providers/responses/platform.ts';
import { type Draft, type Reply, startGateway, type TestGateway } from '../../../support/gateway.ts';
import { replyEvents, turnBody } from '../../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';

/** Prices at which an output token costs this many dollars, and input costs nothing. */
const perToken = (dollars: number): Draft => ({ input: 0, cached_input: 0, output: dollars * 1_000_000 });

let platform: Platform;
before(async () => {
  platform = await startPlatform();
});
after(() => platform.close());
beforeEach(() => {
  platform.clear();
  platform.reading.set('/v1/models', answers(200, { data: [{ id: 'own-a', context_length: 272_000 }] }));
});

interface Prices {
  readonly row?: number | undefined;
  readonly pool?: number | undefined;
  readonly credential?: unknown;
}

/**
 * North is in tier 0, box in tier 1. The gateway reads the model of box from its list; the model is declared only if its row has a price.
 */
function staged(api: 'chat' | 'responses', { row, pool, credential }: Prices, more: (draft: Draft) => void): Promise<TestGateway> {
  return startGateway({
    upstream: { accounts: ['north', 'box'], strict: false },
    config(draft) {
      draft.accounts[1] = {
        id: 'box',
        api,
        base_url: platform.url,
        credential: credential ?? { bearer: { env: 'BEARER_BOX' } },
        models: { 'model-a': 'own-a' },
        ...(row === undefined ? {} : { catalog: [{ id: 'own-a', prices: perToken(row) }] }),
      };
      draft.pools[0].assignments = [{ account: 'north' }, { account: 'box', tier: 1 }];
      if (pool !== undefined) draft.pools[0].models = { 'model-a': { prices: perToken(pool) } };
      more(draft);
    },
  });
}

const turn = (gate: TestGateway, tokens: number): Promise<Reply> =>
  gate.send(NATIVE, { body: turnBody('hi', { max_output_tokens: tokens }) });
const spend = (gate: TestGateway): void => gate.fail('north', 'model-a', failure('quota', { retryAfterMs: 3_600_000 }));

/** A reply of box with this many output tokens. */
function costing(api: 'chat' | 'responses', tokens: number): PlatformAnswer {
  const usage = { prompt_tokens: 1, completion_tokens: tokens, total_tokens: 1 + tokens };
  if (api === 'chat') return streamed([text('Hi'), finish('stop'), usageChunk(usage), '[DONE]']);
  return streams(
    textEvents('Hi').map((event) =>
      event.type === 'response.completed'
        ? {
            ...event,
            response: { ...(event.response as Draft), usage: { input_tokens: 1, output_tokens: tokens, total_tokens: 1 + tokens } },
          }
        : event,
    ),
  );
}

const spentOf = async (gate: TestGateway): Promise<number> => {
  const { pools } = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as { pools: { overflow: { spent: number }[] }[] };
  return pools[0]?.overflow[0]?.spent ?? Number.NaN;
};

for (const api of ['chat', 'responses'] as const) {
  describe(`the price of a ${api} account in a tier with a cap of 10 USD`, () => {
    const capped = (prices: Prices): Promise<TestGateway> =>
      staged(api, prices, (draft) => {
        draft.pools[0].overflow = { usd_per_day: 10 };
      });

    for (const [what, prices, perTokenOf] of [
      ["its row's, below the Pool's", { row: 1, pool: 5 }, 1],
      ["its row's, above the Pool's", { row: 5, pool: 1 }, 5],
      ["the Pool's where its row has none", { pool: 2 }, 2],
      ["the Pool's although it needs no credential", { pool: 2, credential: 'none' }, 2],
    ] as const) {
      test(`[AA70] ${what}`, async () => {
        await using gate = await capped(prices);
        spend(gate);
        const fits = 10 / perTokenOf;
        const refused = await turn(gate, fits + 1);
        assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached']);
        assert.equal(platform.requests.length, 0);
        platform.next.push(costing(api, 2));
        assert.equal((await turn(gate, fits)).status, 200);
        assert.equal(platform.requests.length, 1);
        await gate.flush();
        assert.equal(await spentOf(gate), 2 * perTokenOf, 'settled at that price');
      });
    }

    test('[AA70] none: no turn, for no_price', async () => {
      await using gate = await capped({});
      spend(gate);
      const refused = await turn(gate, 1);
      assert.deepEqual([refused.status, refused.json.error.code], [429, 'usage_limit_reached']);
      assert.equal(platform.requests.length, 0);
      const metrics = await gate.metrics();
      assert.match(metrics, /poolgate_overflow_refused_total\{pool="team",reason="no_price"\} 1\n/);
    });

    test('[AA70] none, and no credential: it costs nothing', async () => {
      await using gate = await capped({ credential: 'none' });
      spend(gate);
      platform.next.push(costing(api, 1_000));
      assert.equal((await turn(gate, 100_000)).status, 200);
      await gate.flush();
      assert.equal(await spentOf(gate), 0);
    });
  });

  describe(`a key with a limit, where north costs 1 USD a token and a ${api} account 3`, () => {
    const limited = (usd_per_day: number, key: Draft = {}): Promise<TestGateway> =>
      staged(api, { row: 3, pool: 1 }, (draft) => {
        draft.keys[0] = { ...draft.keys[0], limits: { usd_per_day }, ...key };
      });
    const current = async (gate: TestGateway): Promise<number> => (await gate.send('/v1/usage')).json.limits[0].current_value;
    const north = replyEvents([
      {
        type: 'response.completed',
        response: { id: 'resp_1', object: 'response', status: 'completed', output: [], usage: { input_tokens: 1, output_tokens: 4 } },
      },
    ]);

    test('[AA71] the highest price of the accounts that the turn may reach is reserved', async () => {
      await using gate = await limited(29);
      const refused = await turn(gate, 10);
      assert.deepEqual([refused.status, refused.json.error.code], [429, 'rate_limit_exceeded'], 'though north alone would cost 10');
      assert.equal(gate.upstream.turns().length, 0);
      assert.equal((await turn(gate, 9)).status, 200);
    });

    test('[AA71] the price of an account that the key does not reach does not count', async () => {
      await using gate = await limited(29, { overflow: false });
      assert.equal((await turn(gate, 10)).status, 200);
      assert.equal((await turn(gate, 30)).status, 429);
    });

    test('[AA71] the price of the account that served the turn settles it', async () => {
      await using gate = await limited(100);
      gate.upstream.next('north', north);
      assert.equal((await turn(gate, 10)).status, 200);
      await gate.flush();
      assert.equal(await current(gate), 4);
      spend(gate);
      platform.next.push(costing(api, 7));
      assert.equal((await turn(gate, 10)).status, 200);
      await gate.flush();
      assert.equal(await current(gate), 4 + 7 * 3);
      assert.deepEqual([gate.upstream.turns().length, platform.requests.length], [1, 1]);
    });
  });
}
