// A turn for which an API turns out to have no form although eligibility admitted it (AA46), and what counts against its limits (AA47).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { agentApi } from '../../../proxy/providers/agent/agent-api.ts';
import type { ProviderApi } from '../../../proxy/turn/provider/provider-api.ts';
import { inputTokens } from '../../../proxy/turn/token-estimate.ts';
import { chatStage, NATIVE, user } from '../../providers/chat/chat-stage.ts';
import { HELLO, streamed } from '../../providers/chat/completions.ts';
import { talkApi } from '../../providers/talk/talk-api.ts';
import { startTalkServer, type TalkServer } from '../../providers/talk/talk-server.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const SAID = 'a text of the client';

/** A provider whose translation fails for some turns, as no shipped API should. */
const brokenApi: ProviderApi = {
  ...talkApi,
  name: 'broken',
  requests: {
    ...talkApi.requests,
    json(out, context) {
      if (JSON.stringify(out.body).includes(SAID)) throw new Error(`no form for ${JSON.stringify(out.body)}`);
      return talkApi.requests.json(out, context);
    },
  },
};

let talk: TalkServer;
let gate: TestGateway;
before(async () => {
  talk = await startTalkServer({ 'model-a': 272_000 });
  gate = await startGateway({
    upstream: { accounts: ['talk', 'twin', 'north'] },
    providerOf: ({ id }) => (id === 'north' ? agentApi : brokenApi),
    config(draft) {
      for (const i of [0, 1]) draft.accounts[i] = { ...draft.accounts[i], base_url: talk.url };
    },
  });
});
after(async () => {
  await gate.close();
  await talk.close();
});
beforeEach(() => {
  talk.clear();
  gate.reset();
});

const turn = (said = SAID): Promise<Reply> => gate.send(NATIVE, { body: turnBody(said) });

const attemptsOf = async (reply: Reply): Promise<readonly unknown[]> =>
  (await gate.attempts(reply.headers.get('x-request-id') ?? '')).map(({ account, status, error_class }) => [account, status, error_class]);

const assignTo = (tiers: Readonly<Record<string, number>>): Promise<void> =>
  gate.reconfigure((draft) => {
    draft.pools[0].assignments = Object.entries(tiers).map(([account, tier]) => ({ account, tier }));
  });

function assertUnblamed(): void {
  for (const id of ['talk', 'twin']) {
    const { status, cooldown, models } = gate.account(id);
    assert.deepEqual([status, cooldown, Object.keys(models)], ['active', undefined, []], id);
  }
  assert.ok(
    gate.logged.every((line) => !line.includes(SAID)),
    'no log line has a text of the client',
  );
}

test('[AA46] it is malformed without a request, no account is blamed, and an account of another API takes it', async () => {
  // This is more often than an account may fail in a row.
  for (let i = 0; i < 6; i++) {
    const reply = await turn();
    assert.equal(reply.status, 200, reply.text);
    // The other account of that API does not get the same turn.
    assert.deepEqual(await attemptsOf(reply), [
      ['TALK', null, 'upstream_malformed'],
      ['NORTH', 200, null],
    ]);
  }
  assert.deepEqual([talk.turns.length, gate.upstream.turns('north').length], [0, 6]);
  assertUnblamed();
  assert.equal((await turn('another')).status, 200);
  assert.equal(talk.turns.length, 1, 'the account goes on to get the turns that it can take');
});

test('[AA46] an account of another API in a higher tier takes it too', async () => {
  await assignTo({ talk: 0, twin: 0, north: 1 });
  try {
    const reply = await turn();
    assert.equal(reply.status, 200, reply.text);
    const row = await gate.row(reply);
    assert.deepEqual([row?.account, row?.tier, row?.overflow], ['NORTH', 1, 'failing']);
    assert.equal(talk.turns.length, 0);
    assertUnblamed();
  } finally {
    await assignTo({ talk: 0, twin: 0, north: 0 });
  }
});

test('[AA46] without an account of another API it is refused after one attempt', async () => {
  await assignTo({ talk: 0, twin: 0 });
  try {
    const refused = await turn();
    assert.deepEqual([refused.status, refused.json.error.code], [502, 'upstream_error'], refused.text);
    assert.deepEqual(await attemptsOf(refused), [['TALK', null, 'upstream_malformed']]);
    assert.equal(talk.turns.length, 0);
    assertUnblamed();
  } finally {
    await assignTo({ talk: 0, twin: 0, north: 0 });
  }
});

test('[AA47] limits reserve what the client wrote, not what an account gets', async () => {
  const schema = { type: 'object', properties: { said: { type: 'string', description: 'long '.repeat(200) } } };
  const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: /x/ '.repeat(100) };
  const body = {
    model: 'model-a',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    input: [user([{ type: 'input_text', text: 'hi' }])],
    tools: [{ type: 'custom', name: 'patch', format: grammar }],
    text: { format: { type: 'json_schema', name: 'answer', schema } },
    max_output_tokens: 50,
  };
  const needed = inputTokens(body) + 50;
  // The account gets the schema as text, and the grammar in a description.
  await using stage = await chatStage({
    others: ['north'],
    account: { quirks: { json_schema: 'json_object' } },
    config: (draft) => {
      draft.accounts[1].drop_fields = ['max_output_tokens'];
    },
  });
  for (const account of ['box', 'north']) {
    for (const [max, isServed] of [
      [needed, true],
      [needed - 1, false],
    ] as const) {
      stage.clear();
      await stage.gate.reconfigure((draft) => {
        draft.pools[0].assignments = [{ account }];
        draft.keys[0] = { ...draft.keys[0], id: `${account}-${max}`, limits: { tokens_per_day: max } };
      });
      stage.platform.next.push(streamed(HELLO));
      const reply = await stage.gate.send(NATIVE, { body });
      const sent = stage.platform.requests.length + stage.gate.upstream.turns().length;
      assert.deepEqual([reply.status, sent], isServed ? [200, 1] : [429, 0], `${account} ${max}: ${reply.text.slice(0, 300)}`);
      if (account !== 'box' || !isServed) continue;
      const { messages, tools } = stage.platform.requests[0]?.json ?? {};
      assert.ok(JSON.stringify(messages).includes('long long') && JSON.stringify(tools).includes('start: /x/'), 'it gets more than that');
      const { limits } = (await stage.gate.send('/v1/usage')).json;
      assert.equal(limits[0].current_value, 27, 'settled at what the account states');
    }
  }
});
