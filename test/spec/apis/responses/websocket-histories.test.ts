// A client websocket in a Pool whose API account serves only HTTP: frames continue responses that the account has not stored (AA24).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { isObject, type JsonObject } from '../../../../proxy/turn/json/json.ts';
import type { Platform } from '../../../providers/responses/platform.ts';
import { type ResponsesStage, responsesStage } from '../../../providers/responses/responses-stage.ts';
import { startGateway, type TestGateway } from '../../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId, typesOf, userMessage } from '../../../support/native-frames.ts';
import { until } from '../../../support/until.ts';
import { connect, type TestSocket } from '../../../support/websocket.ts';

const LIMIT = 4_000;

let stage: ResponsesStage;
let platform: Platform;
let gate: TestGateway;
before(async () => {
  stage = await responsesStage({
    others: ['north'],
    account: { id: 'box', api: 'responses', credential: 'none', models: { 'model-p': 'own-a' } },
    config(draft) {
      draft.limits = { ...draft.limits, websocket_history_bytes: LIMIT, websocket_histories_bytes: 2 * LIMIT };
    },
  });
  ({ gate, platform } = stage);
});
after(() => stage.close());
beforeEach(() => stage.clear());

const frame = (text: string, members = {}): ReturnType<typeof frameOf> => frameOf(text, { model: 'model-p', ...members });
const codeOf = (refused: JsonObject | undefined): unknown => (isObject(refused?.error) ? refused.error.code : undefined);
const usageOf = (ended: JsonObject | undefined): unknown => (isObject(ended?.response) ? ended.response.usage : undefined);

/** A Chat account, and in a higher tier an account with a websocket. */
const tiered = (): Promise<TestGateway> =>
  startGateway({
    upstream: { accounts: [{ id: 'box', api: { api: 'chat' } }, 'north'] },
    config(draft) {
      draft.accounts[0].api = 'chat';
      draft.pools[0].assignments = [{ account: 'box' }, { account: 'north', tier: 1 }];
    },
  });

async function nextOf(socket: TestSocket, type: string): Promise<JsonObject> {
  for (;;) {
    const next = await socket.next();
    if (next.type === type) return next;
  }
}

const ANSWER = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'hello brave new world', annotations: [] }],
};

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`[AA24] a frame of ${path} that continues the last response goes out as a whole turn`, async () => {
    using socket = await connect(gate, path);
    const first = await socket.turn(frame('hi'));
    const second = await socket.turn(frame('more', { previous_response_id: responseId(first) }));
    const third = await socket.turn(frame('last', { previous_response_id: responseId(second) }));
    assert.equal(third.at(-1)?.type, 'response.completed');
    assert.deepEqual(
      platform.requests.map(({ method, json }) => [method, json.previous_response_id]),
      Array.from({ length: 3 }, () => ['POST', undefined]),
    );
    assert.deepEqual(platform.requests[2]?.json.input, [userMessage('hi'), ANSWER, userMessage('more'), ANSWER, userMessage('last')]);
  });
}

test('[AA24] an earlier response, or one of another connection, is previous_response_not_found', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  const first = await socket.turn(frame('hi'));
  await socket.turn(frame('again'));
  const [refused] = await socket.turn(frame('more', { previous_response_id: responseId(first) }));
  assert.equal(codeOf(refused), 'previous_response_not_found');
  using other = await connect(gate, NATIVE_SOCKET);
  const [unknown] = await other.turn(frame('more', { previous_response_id: responseId(first) }));
  assert.equal(codeOf(unknown), 'previous_response_not_found');
});

test('[AA24] [EV1] a frame without generation is answered by the gateway, and continued', async () => {
  using socket = await connect(gate, NATIVE_SOCKET);
  const warm = await socket.turn(frame('hi', { generate: false }));
  assert.deepEqual(typesOf(warm), ['agent.response.metadata', 'response.created', 'response.completed']);
  assert.deepEqual(warm[0]?.headers, { 'x-models-etag': socket.headers['x-models-etag'] });
  assert.deepEqual(usageOf(warm.at(-1)), { input_tokens: 0, output_tokens: 0, total_tokens: 0 });
  assert.equal(platform.requests.length, 0);
  await socket.turn(frame('more', { previous_response_id: responseId(warm) }));
  assert.deepEqual(platform.requests[0]?.json.input, [userMessage('hi'), userMessage('more')]);
});

test('[AA24] [AA66] it stays in its tier, whose account it is answered for, and so does what continues it', async () => {
  await using tiers = await tiered();
  for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
    tiers.upstream.clear();
    using socket = await connect(tiers, path);
    const warm = await socket.turn(frameOf('hi', { generate: false }));
    assert.equal(typesOf(warm).at(-1), 'response.completed');
    const turn = await socket.turn(frameOf('more', { previous_response_id: responseId(warm) }));
    assert.equal(typesOf(turn).at(-1), 'response.completed');
    assert.deepEqual(
      tiers.upstream.turns().map(({ account }) => account),
      ['box'],
    );
  }
});

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  for (const [when, script] of [
    ['in its upgrade', 'refuse upgrade 429'],
    ['in its frame', 'refuse 429 usage_limit_reached resets 3600'],
    ['in its reply', 'refuse inside usage_limit_reached after 1 events'],
  ] as const) {
    test(`[AA24] [AA66] the gateway answers it on ${path} if the agent account of the lower tier is out of quota ${when}, and later`, async () => {
      await using tiers = await startGateway({
        upstream: { accounts: ['north', { id: 'box', api: { api: 'chat' } }] },
        config(draft) {
          draft.accounts[1].api = 'chat';
          draft.pools[0].assignments = [{ account: 'north' }, { account: 'box', tier: 1 }];
        },
      });
      if (script.startsWith('refuse upgrade')) tiers.upstream.nextUpgrade('north', script);
      else tiers.upstream.next('north', script);
      for (const _ of ['now', 'later']) {
        using socket = await connect(tiers, path);
        const warm = await socket.turn(frameOf('hi', { generate: false }));
        assert.equal(typesOf(warm).at(-1), 'response.completed', JSON.stringify(warm));
        const turn = await socket.turn(frameOf('more', { previous_response_id: responseId(warm) }));
        assert.equal(typesOf(turn).at(-1), 'response.completed');
        assert.equal(tiers.upstream.turns().at(-1)?.account, 'box');
      }
    });
  }
}

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  for (const tier of [0, 1]) {
    test(`[Q10] [AA66] an anchored frame of ${path} whose account is out of quota is previous_response_not_found, so that an API account of tier ${tier} gets the turn in full`, async () => {
      await using tiers = await startGateway({
        upstream: { accounts: ['north', { id: 'box', api: { api: 'chat' } }] },
        config(draft) {
          draft.accounts[1].api = 'chat';
          draft.pools[0].strategy = 'fill_first';
          draft.pools[0].assignments = [{ account: 'north' }, { account: 'box', tier }];
        },
      });
      using socket = await connect(tiers, path);
      const first = await socket.turn(frameOf('hi'));
      assert.equal(typesOf(first).at(-1), 'response.completed');
      tiers.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
      const refused = await socket.turn(frameOf('more', { previous_response_id: responseId(first) }));
      assert.equal(codeOf(refused.at(-1)), 'previous_response_not_found', JSON.stringify(refused));
      using next = await connect(tiers, path);
      assert.equal(typesOf(await next.turn(frameOf('hi, more'))).at(-1), 'response.completed');
      assert.equal(tiers.upstream.turns().at(-1)?.account, 'box');
    });
  }
}

test('[AA24] the gateway answers it if the agent accounts of the Pool are full', async () => {
  await using busy = await startGateway({
    upstream: { accounts: ['north', { id: 'box', api: { api: 'chat' } }] },
    config(draft) {
      draft.accounts[0].max_concurrent = 1;
      draft.accounts[1].api = 'chat';
      draft.pools[0].strategy = 'fill_first';
      draft.admission = { websocket: { running: 8, waiting: 0, wait_ms: 1_000 } };
    },
  });
  using first = await connect(busy, NATIVE_SOCKET);
  busy.upstream.next('north', 'stall before headers');
  first.send({ type: 'response.create', ...frameOf('hi') });
  await busy.upstream.stalled('north');
  using second = await connect(busy, NATIVE_SOCKET);
  const warm = await second.turn(frameOf('hi', { generate: false }));
  assert.equal(typesOf(warm).at(-1), 'response.completed', JSON.stringify(warm));
  const turn = await second.turn(frameOf('more', { previous_response_id: responseId(warm) }));
  assert.equal(typesOf(turn).at(-1), 'response.completed');
  assert.equal(busy.upstream.turns().at(-1)?.account, 'box');
});

test('[AA24] [RB29] the next turn continues a response that its client has interrupted', async () => {
  await using own = await tiered();
  own.upstream.next('box', 'stall after 6 events');
  using socket = await connect(own, NATIVE_SOCKET);
  socket.send({ type: 'response.create', ...frameOf('write 50 words') });
  await own.upstream.stalled('box');
  const created = await nextOf(socket, 'response.created');
  const response_id = responseId([created]);
  socket.send({ type: 'response.interrupt', response_id, mode: 'discard_partial_items' });
  assert.equal((await socket.rest()).at(-1)?.type, 'response.incomplete');
  const next = await socket.turn(frameOf('say: more', { previous_response_id: response_id }));
  assert.equal(next.at(-1)?.type, 'response.completed', JSON.stringify(next.at(-1)));
  const sent = own.upstream.turns('box').at(-1)?.json as { readonly messages: readonly JsonObject[] } | undefined;
  assert.deepEqual(
    sent?.messages.map(({ content }) => content),
    ['write 50 words', 'say: more'],
  );
});

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`[AA24] [AA48] the next frame of ${path} continues a compaction`, async () => {
    await using own = await tiered();
    using socket = await connect(own, path);
    const compacted = await socket.turn(frameOf('', { input: [userMessage('hi'), { type: 'compaction_trigger' }] }));
    assert.equal(typesOf(compacted).at(-1), 'response.completed', JSON.stringify(compacted.at(-1)));
    const next = await socket.turn(frameOf('more', { previous_response_id: responseId(compacted) }));
    assert.equal(typesOf(next).at(-1), 'response.completed', JSON.stringify(next.at(-1)));
    const sent = own.upstream.turns('box').at(-1)?.json as { readonly messages: readonly JsonObject[] } | undefined;
    const [first, summary, last] = sent?.messages.map(({ content }) => String(content)) ?? [];
    assert.deepEqual([first, last], ['hi', 'more']);
    assert.match(summary ?? '', /^Summary of the conversation so far:/);
  });
}

test('[AA24] a history past its limit is not kept, and the least recent goes first', async () => {
  const dropped = gate.count('websocket_histories_dropped');
  using large = await connect(gate, NATIVE_SOCKET);
  const turn = await large.turn(frame('x'.repeat(LIMIT)));
  const [refused] = await large.turn(frame('more', { previous_response_id: responseId(turn) }));
  assert.equal(codeOf(refused), 'previous_response_not_found');
  assert.equal(gate.count('websocket_histories_dropped'), dropped + 1);
  const sockets = await Promise.all([1, 2, 3].map(() => connect(gate, NATIVE_SOCKET)));
  const turns: Awaited<ReturnType<(typeof large)['turn']>>[] = [];
  for (const socket of sockets) turns.push(await socket.turn(frame('x'.repeat(LIMIT - 1_000))));
  const [oldest, , newest] = sockets;
  const [lost] = (await oldest?.turn(frame('more', { previous_response_id: responseId(turns[0] ?? []) }))) ?? [];
  assert.equal(codeOf(lost), 'previous_response_not_found');
  assert.equal((await newest?.turn(frame('m', { previous_response_id: responseId(turns[2] ?? []) })))?.at(-1)?.type, 'response.completed');
  for (const socket of sockets) socket[Symbol.dispose]();
});

test('[AA83] websocket_history_bytes is the size of the frames and outputs that are kept, and falls with their connection', async () => {
  const kept = async (): Promise<number> => {
    const metrics = await gate.metrics();
    return Number(/^poolgate_websocket_history_bytes (\d+)$/m.exec(metrics)?.[1]);
  };
  await until('the histories of other tests to be gone', async () => ((await kept()) === 0 ? true : undefined));
  const socket = await connect(gate, NATIVE_SOCKET);
  const first = frame('héllo');
  const size = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
  const sent = (members: object): number => size({ type: 'response.create', ...members });
  const events = await socket.turn(first);
  const item = (frames: readonly JsonObject[]) => frames.find(({ type }) => type === 'response.output_item.done')?.item;
  const one = sent(first) + size(item(events));
  assert.equal(await kept(), one);
  const second = frame('more', { previous_response_id: responseId(events) });
  const more = await socket.turn(second);
  const two = one + sent(second) + size(item(more));
  assert.equal(await kept(), two, 'what is continued is kept with it');
  const other = await connect(gate, PUBLIC_SOCKET);
  const apart = frame('hi', { generate: false });
  await other.turn(apart);
  assert.equal(await kept(), two + sent(apart), 'a frame without output');
  socket[Symbol.dispose]();
  await until('the history of the connection to be gone', async () => ((await kept()) === sent(apart) ? true : undefined));
  other[Symbol.dispose]();
  await until('no history to be left', async () => ((await kept()) === 0 ? true : undefined));
});
