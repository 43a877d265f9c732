// Keys and errors of Messages clients: who is authenticated, and the statuses, types and sentences to which these clients react (AM7 to
// AM19).
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { KEY, type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { replyEvents, replyJson } from '../../support/rehearsal-replies.ts';
import { MESSAGES, messagesBody } from './messages-body.ts';

const PAUSED = 'pg-paused';
const LIMITED = 'pg-limited';
const DAY = 'pg-day';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      const key = (id: string, secret: string, members: JsonObject): JsonObject => ({
        id,
        pool: draft.keys[0].pool,
        secret_sha256: [hash('sha256', secret, 'hex')],
        ...members,
      });
      draft.keys.push(
        key('paused', PAUSED, { status: 'paused' }),
        key('limited', LIMITED, { models: ['model-a'], output_tokens: { max: 500 }, reasoning_effort: { allow_up_to: 'low' } }),
        key('day', DAY, { limits: { tokens_per_day: 1_000 } }),
      );
    },
  });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const ask = (members: JsonObject = {}): JsonObject => messagesBody({ max_tokens: 400, ...members });
/** Sends no key unless the headers have one. */
const send = (headers: Record<string, string>, members: JsonObject = {}): Promise<Reply> =>
  gate.send(MESSAGES, { body: ask(members), headers: { authorization: '', ...headers } });
const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

describe('[AM7] [AM8] the key', () => {
  for (const [what, headers] of [
    ['as a bearer token', bearer(KEY)],
    ['in x-api-key', { 'x-api-key': KEY }],
    ['in both', { ...bearer(KEY), 'x-api-key': KEY }],
    ['in x-api-key beside a foreign token', { ...bearer('sk-ant-foreign'), 'x-api-key': KEY }],
    ['as a token beside a foreign key', { ...bearer(KEY), 'x-api-key': 'sk-ant-foreign' }],
  ] as const) {
    test(what, async () => assert.equal((await send(headers)).status, 200));
  }

  for (const [what, headers] of [
    ['none', {}],
    ['an unknown one', { 'x-api-key': 'sk-ant-unknown' }],
  ] as const) {
    test(`${what} is 401, and is not tried again`, async () => {
      const { status, headers: answered, json } = await send(headers);
      assert.deepEqual([status, json.error.type, json.error.details.error_code], [401, 'authentication_error', 'invalid_api_key']);
      assert.deepEqual([answered.get('www-authenticate'), answered.get('x-should-retry')], ['Bearer', 'false']);
    });
  }

  test('a paused one has its own message', async () => {
    const { status, json } = await send({ 'x-api-key': PAUSED });
    assert.deepEqual([status, json.error.type, json.error.details.error_code], [401, 'authentication_error', 'api_key_disabled']);
  });

  test('[AM9] x-api-key opens no other row', async () => {
    const { status } = await gate.send('/v1/responses', {
      body: { model: 'model-a', input: 'hi' },
      headers: { authorization: '', 'x-api-key': KEY },
    });
    assert.equal(status, 401);
  });
});

describe('[AM10] [AM11] [AM12] the envelope', () => {
  test('has the code of the error table, and the id of the row', async () => {
    const { status, headers, json } = await send(bearer(KEY), { max_tokens: null });
    const id = headers.get('request-id');
    assert.equal(status, 400);
    assert.deepEqual(json, {
      type: 'error',
      error: { type: 'invalid_request_error', message: json.error.message, details: { error_code: 'invalid_request' } },
      request_id: id,
    });
    assert.ok(json.error.message.startsWith('max_tokens: '));
    assert.equal(headers.get('x-request-id'), id);
    assert.equal((await gate.rows()).at(-1)?.id, id);
  });

  test('a model outside the list of the key is 403', async () => {
    const { status, json } = await send(bearer(LIMITED), { model: 'model-b' });
    assert.deepEqual([status, json.error.type], [403, 'permission_error']);
  });

  test('[AM17] a cap above the key’s policy names the largest', async () => {
    const { status, json } = await send(bearer(LIMITED), { max_tokens: 501 });
    assert.equal(status, 400);
    assert.equal(json.error.message, 'max_tokens: 501 > 500, which is the maximum allowed number of output tokens for this API key');
  });

  test('[AM19] an effort above the key’s policy names where it came from', async () => {
    const one = await send(bearer(LIMITED), { output_config: { effort: 'high' } });
    assert.ok(one.json.error.message.startsWith('output_config.effort: '), one.json.error.message);
    const other = await send(bearer(LIMITED), { thinking: { type: 'enabled', budget_tokens: 30_000 } });
    assert.ok(other.json.error.message.startsWith('thinking.budget_tokens: '), other.json.error.message);
  });

  const UNTIL = / \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\.$/;

  test('[AM12] a spent day ends at once, and says until when', async () => {
    let answer = await send(bearer(DAY));
    assert.equal(answer.status, 200);
    for (let turns = 1; answer.status === 200 && turns < 20; turns++) answer = await send(bearer(DAY));
    const { status, headers, json } = answer;
    assert.deepEqual([status, json.error.type, headers.get('x-should-retry')], [429, 'rate_limit_error', 'false']);
    assert.equal(headers.get('retry-after'), null);
    assert.match(json.error.message, UNTIL);
  });

  test('[AM12] a Pool out of quota ends at once, and says until when', async () => {
    await using own = await startGateway({ upstream: { accounts: ['north'] } });
    const resets_at = Math.floor(Date.now() / 1000) + 7_200;
    own.upstream.next('north', replyJson({ error: { type: 'usage_limit_reached', message: 'Spent.', resets_at } }, { status: 429 }));
    const { status, headers, json } = await own.send(MESSAGES, { body: ask() });
    assert.deepEqual([status, json.error.type, headers.get('x-should-retry')], [429, 'rate_limit_error', 'false']);
    assert.deepEqual([headers.get('retry-after'), json.error.details.resets_at], [null, resets_at]);
    assert.match(json.error.message, UNTIL);
  });

  for (const [how, refusal] of [
    ['with a status', replyJson({ error: { type: 'usage_limit_reached', message: 'Spent.' } }, { status: 429 })],
    ['inside its reply', 'refuse inside usage_limit_reached'],
  ] as const) {
    for (const stream of [false, true]) {
      test(`[AM12] a first refusal for quota that states no reset says when the Pool asks again: ${how}, ${stream ? 'stream' : 'whole'}`, async () => {
        await using own = await startGateway({ upstream: { accounts: ['north'] } });
        own.upstream.next('north', refusal);
        const { status, json } = await own.send(MESSAGES, { body: ask({ stream }) });
        assert.deepEqual([status, json.error.type], [429, 'rate_limit_error']);
        assert.match(json.error.message, UNTIL);
      });
    }
  }

  test('[AM12] overload is 529 with Retry-After', async () => {
    await using full = await startGateway({
      upstream: { accounts: ['north'] },
      config: (draft) => {
        draft.admission = { stream: { running: 1, waiting: 0, wait_ms: 1_000 } };
      },
    });
    full.upstream.next('north', 'stall before headers');
    const leaving = new AbortController();
    const first = full.fetch(MESSAGES, { body: ask(), signal: leaving.signal });
    await full.upstream.stalled('north');
    const { status, headers, json } = await full.send(MESSAGES, { body: ask() });
    assert.deepEqual([status, json.error.type, json.error.details.error_code], [529, 'overloaded_error', 'server_is_overloaded']);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    assert.equal((await full.rows()).at(-1)?.status, 529);
    leaving.abort();
    await assert.rejects(first);
  });
});

for (const [how, script] of [
  ['in its status', 'refuse 503'],
  ['in its status, with a wait', 'refuse 503 server_is_overloaded retry 7'],
  ['inside its reply', 'refuse inside server_is_overloaded'],
  ['inside its reply, as an error event', 'refuse inside slow_down as error'],
] as const) {
  test(`[AM12] [AM13] a provider that says it is overloaded is 529 with Retry-After: ${how}`, async () => {
    for (const stream of [false, true]) {
      gate.upstream.next('north', script, script, script);
      const { status, headers, json } = await send(bearer(KEY), { stream });
      assert.deepEqual([status, json.error.type, json.error.details.error_code], [529, 'overloaded_error', 'server_is_overloaded']);
      assert.equal(headers.get('retry-after'), script.includes('retry') ? '7' : '1');
      assert.equal((await gate.rows()).at(-1)?.status, 529);
      gate.heal();
      gate.upstream.clear();
    }
  });
}

for (const [how, answer] of [
  ['in its status', replyJson({ error: { type: 'overloaded_error', message: 'Overloaded' } }, { status: 529 })],
  ['by the type of an error event', replyEvents([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }])],
] as const) {
  test(`[AM12] [AM16] a provider that says it is overloaded in the words of another API is 529: ${how}`, async () => {
    gate.upstream.next('north', answer, answer, answer);
    const { status, headers, json } = await send(bearer(KEY), { stream: true });
    assert.deepEqual([status, json.error.type, json.error.details.error_code], [529, 'overloaded_error', 'server_is_overloaded']);
    assert.equal(headers.get('retry-after'), '1');
    gate.heal();
    gate.upstream.clear();
  });
}

test('[AM18] [Q3] an image that is refused inside a reply is a refusal of the request', async () => {
  const error = { code: 'image_parse_error', message: 'No.' };
  gate.upstream.next('north', replyEvents([{ type: 'response.failed', response: { id: 'resp_1', status: 'failed', error, output: [] } }]));
  const { status, json } = await send(bearer(KEY));
  assert.deepEqual([status, json.error.type, json.error.message], [400, 'invalid_request_error', 'Could not process image']);
});

describe('[AM15] a prompt that is too long', () => {
  const TOO_LONG = /^prompt is too long: (\d+) tokens > (\d+) maximum$/;
  const check = ({ status, json }: Reply): void => {
    assert.deepEqual([status, json.error.type], [400, 'invalid_request_error']);
    const [, count, most] = TOO_LONG.exec(json.error.message) ?? [];
    assert.ok(Number(count) > Number(most), json.error.message);
  };

  for (const refused of [400, 413]) {
    test(`as a status ${refused} of the account`, async () => {
      gate.upstream.next('north', replyJson({ error: { code: 'context_length_exceeded', message: 'Too long.' } }, { status: refused }));
      check(await send(bearer(KEY)));
    });
  }

  test('its count is that of count_tokens where that is above the window', async () => {
    // This text has four bytes a token, so a machine that is too busy to count estimates the same number.
    const content = ' the'.repeat(300_000);
    gate.upstream.next('north', replyJson({ error: { code: 'context_length_exceeded', message: 'Too long.' } }, { status: 400 }));
    const refused = await send(bearer(KEY), { messages: [{ role: 'user', content }] });
    check(refused);
    const counted = await gate.send(`${MESSAGES}/count_tokens`, { body: ask({ messages: [{ role: 'user', content }] }) });
    assert.equal(TOO_LONG.exec(refused.json.error.message)?.[1], String(counted.json.input_tokens));
  });

  test('as a refusal inside its reply', async () => {
    const error = { code: 'context_length_exceeded', message: 'Too long.' };
    const refused = replyEvents([{ type: 'response.failed', response: { id: 'resp_1', status: 'failed', error, output: [] } }]);
    gate.upstream.next('north', refused);
    check(await send(bearer(KEY), { stream: true }));
    gate.upstream.next('north', refused);
    check(await send(bearer(KEY)));
  });
});

describe('[AM18] what the account cannot read', () => {
  const image = { type: 'image', source: { type: 'url', url: 'https://a.example/a.png' } };
  const pdf = { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } };
  const content = [{ type: 'text', text: 'hi' }, image, pdf];
  for (const [what, error, message] of [
    ['an image, by its place', { code: 'invalid_value', param: 'input[0].content[1].image_url' }, 'Could not process image'],
    ['an image, by its code', { code: 'image_parse_error', param: null }, 'Could not process image'],
    ['an image, by a newer code', { code: 'unsupported_image_format', param: null }, 'Could not process image'],
    ['a PDF, by its place', { code: 'invalid_value', param: 'input[0].content[2]' }, 'Could not process PDF'],
    ['a text stays what it is', { code: 'invalid_value', param: 'input[0].content[0].text' }, 'messages.0.content.0: No.'],
  ] as const) {
    test(what, async () => {
      gate.upstream.next('north', replyJson({ error: { ...error, message: 'No.' } }, { status: 400 }));
      const { status, json } = await send(bearer(KEY), { messages: [{ role: 'user', content }] });
      assert.deepEqual([status, json.error.type, json.error.message], [400, 'invalid_request_error', message]);
    });
  }

  for (const [what, param, message] of [
    ['an image', 'input[2].output[1].image_url', 'Could not process image'],
    ['a PDF', 'input[2].output[2]', 'Could not process PDF'],
    ['an image of a document', 'input[2].output[4].image_url', 'Could not process image'],
    ['a text stays what it is', 'input[2].output[0].text', 'messages.2.content.0.content.0: No.'],
    ['the result as a whole', 'input[2].output', 'messages.2.content.0: No.'],
  ] as const) {
    test(`${what} in the result of a tool, by its place`, async () => {
      const pages = { type: 'document', title: 'Pages', source: { type: 'content', content: [image] } };
      const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: [...content, pages], is_error: true };
      const messages = [
        { role: 'user', content: 'look' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }] },
        { role: 'user', content: [result] },
      ];
      gate.upstream.next('north', replyJson({ error: { code: 'invalid_value', param, message: 'No.' } }, { status: 400 }));
      const { status, json } = await send(bearer(KEY), { messages });
      assert.deepEqual([status, json.error.type, json.error.message], [400, 'invalid_request_error', message]);
    });
  }
});

test('[AM14] an account’s refusal names the client’s member', async () => {
  const error = {
    code: 'invalid_value',
    type: 'invalid_request_error',
    param: 'tools[0].parameters',
    message: "Invalid value 'tools[0].parameters'.",
  };
  gate.upstream.next('north', replyJson({ error }, { status: 400 }));
  const { status, json } = await send(bearer(KEY), { tools: [{ name: 'a', input_schema: { type: 'object', properties: {} } }] });
  assert.equal(status, 400);
  assert.ok(json.error.message.startsWith('tools.0.input_schema: '), json.error.message);
});
