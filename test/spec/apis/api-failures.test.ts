// Failures of API accounts over the wire: what clients of each surface get, the effect on the account, and the row (AA61 to AA64).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { isStatusReply } from '../../../proxy/admin/replies/status-reply.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { answers, type Platform, type PlatformAnswer, refuses, startPlatform, textEvents } from '../../providers/responses/platform.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const MODELS = ['model-a', 'model-b', 'model-c'];

let first: Platform;
let second: Platform;
let gate: TestGateway;
const clock = new ShiftedClock();

/** `box` is tried before `spare`; both have all models. */
before(async () => {
  [first, second] = await Promise.all([startPlatform(), startPlatform()]);
  gate = await startGateway({
    clock,
    upstream: { accounts: ['box', 'spare'] },
    config(draft) {
      draft.accounts = draft.accounts.map(({ id }: JsonObject) => ({
        id,
        label: String(id).toUpperCase(),
        api: 'responses',
        base_url: (id === 'box' ? first : second).url,
        credential: { bearer: { env: `BEARER_${String(id).toUpperCase()}` } },
        catalog: MODELS.map((model) => ({ id: model, context_window: 100_000, input_modalities: ['text', 'image'] })),
      }));
      draft.pools[0].strategy = 'fill_first';
    },
  });
});
after(() => Promise.all([gate.close(), first.close(), second.close()]));
beforeEach(() => {
  first.clear();
  second.clear();
  gate.heal();
  // The retry budget of the Pool counts the last 10 s.
  clock.setAhead(11_000);
});

const turn = (model = 'model-a'): Promise<Reply> => gate.send(PUBLIC, { body: { model, input: 'hi' } });

const boxHealth = () => gate.accounts().find(({ account }) => account === 'box') ?? assert.fail();

const attemptsOf = async (reply: Reply): Promise<readonly unknown[]> =>
  (await gate.attempts((await gate.row(reply))?.id ?? '')).map(({ account, status, error_class }) => [account, status, error_class]);

describe('another account answers', () => {
  interface Case {
    readonly what: string;
    readonly answer: PlatformAnswer;
    readonly attempt: readonly unknown[];
    /** The cause of the cooldown, either of the whole account or of the model. */
    readonly cools?: { readonly account: string } | { readonly model: string };
  }
  const CASES: readonly Case[] = [
    { what: 'a refused credential', answer: refuses(401, { code: 'invalid_api_key' }), attempt: [401, 'upstream_status'] },
    { what: 'a spent balance', answer: refuses(402, {}), attempt: [402, 'upstream_rate_limited'], cools: { account: 'quota' } },
    {
      what: 'a spent quota',
      answer: refuses(429, { code: 'insufficient_quota' }),
      attempt: [429, 'upstream_rate_limited'],
      cools: { account: 'quota' },
    },
    {
      what: 'a rate',
      answer: refuses(429, { code: 'rate_limit_exceeded' }, { 'retry-after': '7' }),
      attempt: [429, 'upstream_rate_limited'],
      cools: { model: 'rate' },
    },
    {
      what: 'a missing model',
      answer: refuses(404, { code: 'model_not_found' }),
      attempt: [404, 'upstream_status'],
      cools: { model: 'model' },
    },
    {
      what: 'a server that loads the model',
      answer: refuses(503, { message: 'Loading model' }),
      attempt: [503, 'upstream_status'],
      cools: { model: 'server' },
    },
    {
      what: 'a member that only the gateway wrote',
      answer: refuses(400, { param: 'stream' }),
      attempt: [400, 'adapted'],
      cools: { model: 'model' },
    },
    { what: 'a page instead of JSON', answer: answers(400, '<html>', { 'content-type': 'text/html' }), attempt: [400, 'upstream_status'] },
    { what: 'a redirect', answer: answers(302, '', { location: 'https://elsewhere.example/' }), attempt: [302, 'upstream_status'] },
  ];
  for (const { what, answer, attempt, cools } of CASES) {
    test(`[AA61] after ${what}`, async () => {
      first.next.push(answer);
      const reply = await turn();
      assert.equal(reply.status, 200, reply.text);
      assert.deepEqual(await attemptsOf(reply), [
        ['BOX', ...attempt],
        ['SPARE', 200, null],
      ]);
      const { cooldown, models } = boxHealth();
      const expected = cools ?? {};
      assert.equal(cooldown?.cause, 'account' in expected ? expected.account : undefined);
      assert.equal(models['model-a']?.cause, 'model' in expected ? expected.model : undefined);
    });
  }

  test('[AA61] a model that loads is asked again after 5 s, a quota without an end after 15 min', async () => {
    const until = (): number => (boxHealth().models['model-a'] ?? boxHealth().cooldown)?.until ?? 0;
    first.next.push(refuses(503, { message: 'The model is loading' }));
    const began = clock.now();
    await turn();
    assert.ok(until() - began >= 5_000 && until() - clock.now() <= 5_000);
    gate.heal();
    first.next.push(refuses(402, {}));
    const spent = clock.now();
    await turn();
    assert.ok(until() - spent >= 900_000 && until() - clock.now() <= 900_000);
  });

  test('[AA61] a third model in a row that the account does not have counts against its address', async () => {
    for (const model of MODELS) {
      first.next.push(answers(404, 'not here', { 'content-type': 'text/plain' }));
      const reply = await turn(model);
      assert.equal(reply.status, 200);
      const [box] = await attemptsOf(reply);
      assert.deepEqual(box, ['BOX', 404, model === 'model-c' ? 'wrong_api' : 'upstream_status']);
    }
    assert.equal(boxHealth().cooldown?.cause, 'wrong_api');
    await turn('model-a');
    assert.equal(first.requests.length, 3, 'it is asked no more');
  });

  test('[AA61] a success between them begins the count again', async () => {
    for (const [i, model] of [...MODELS, 'model-a'].entries()) {
      gate.heal();
      if (i !== 1) first.next.push(answers(405, ''));
      await turn(model);
    }
    assert.notEqual(boxHealth().cooldown?.cause, 'wrong_api');
  });
});

describe('the client gets it', () => {
  const refused: PlatformAnswer = refuses(400, {
    code: 'invalid_value',
    param: 'input[0]',
    message: `Invalid key sk-abcdef1234567 of org-1234567 at https://console.example/keys ${'x'.repeat(900)}`,
  });

  test('[AA63] a foreign refusal in the envelope of every surface, native ones too', async () => {
    const bodies: readonly (readonly [string, JsonObject])[] = [
      [NATIVE, turnBody('hi')],
      [PUBLIC, { model: 'model-a', input: 'hi' }],
    ];
    for (const [path, body] of bodies) {
      first.next.push(refused);
      const { status, json } = await gate.send(path, { body });
      assert.deepEqual([status, Object.keys(json.error).sort()], [400, ['code', 'message', 'param', 'type']], path);
      assert.deepEqual([json.error.code, json.error.message.length <= 500], ['invalid_value', true], path);
      assert.doesNotMatch(json.error.message, /sk-abc|org-123|console/, path);
    }
    assert.equal(second.requests.length, 0, 'a request at fault goes to no other account');
  });

  for (const { what, answer, status, code } of [
    {
      what: 'a full context',
      answer: refuses(400, { message: "This model's maximum context length is 4096 tokens." }),
      status: 400,
      code: 'context_length_exceeded',
    },
    { what: 'a content filter', answer: refuses(403, { code: 'content_filter' }), status: 400, code: 'content_filter' },
    { what: 'a request that is too large', answer: refuses(413, {}), status: 413, code: 'request_too_large' },
    { what: 'any other refusal', answer: refuses(418, { code: 'no_tea' }), status: 400, code: null },
  ]) {
    test(`[AA61] ${what} has the status ${status} and the code ${code}`, async () => {
      first.next.push(answer);
      const reply = await turn();
      assert.deepEqual([reply.status, reply.json.error.code, second.requests.length], [status, code, 0]);
    });
  }

  test('[AA62] a reset is sent only where an account stated it', async () => {
    for (const [headers, isStated] of [
      [{}, false],
      [{ 'retry-after': '3600' }, true],
    ] as const) {
      for (const one of [first, second]) one.next.push(answers(402, { error: { message: 'Pay.' } }, headers));
      for (const { status, json, headers: sent } of [await turn(), await turn()]) {
        assert.deepEqual([status, json.error.code, typeof json.error.resets_at === 'number'], [429, 'usage_limit_reached', isStated]);
        assert.deepEqual([sent.get('x-should-retry'), sent.get('retry-after')], ['false', null]);
      }
      gate.heal();
    }
  });

  test('[AA61] clients of Messages read of a full context in their own words', async () => {
    first.next.push(refuses(400, { code: 'context_length_exceeded' }));
    const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
    const { status, json } = await gate.send('/v1/messages', { body });
    assert.equal(status, 400);
    assert.match(json.error.message, /^prompt is too long: \d+ tokens > \d+ maximum$/);
  });

  test('[AM18] [AA63] clients of Messages read of an image that a platform refuses by its code in their own words', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0K' };
    const content = [{ type: 'image', source }];
    const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content }] };
    for (const code of ['invalid_image_format', 'image_parse_error']) {
      first.next.push(refuses(400, { code, param: null, message: 'You uploaded an unsupported image.' }));
      const { status, json } = await gate.send('/v1/messages', { body });
      assert.deepEqual([status, json.error.type, json.error.message], [400, 'invalid_request_error', 'Could not process image'], code);
    }
    assert.equal(second.requests.length, 0);
  });

  test('[AM12] [AM16] an overloaded platform is 529 for clients of Messages, after every account', async () => {
    for (const overloaded of [
      refuses(529, { type: 'overloaded_error' }),
      answers(529, 'Site is overloaded.', { 'content-type': 'text/plain' }),
    ]) {
      first.next.push(overloaded);
      second.next.push(overloaded);
      const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
      const { status, json, headers } = await gate.send('/v1/messages', { body });
      assert.deepEqual([status, json.error.type, json.error.details.error_code], [529, 'overloaded_error', 'server_is_overloaded']);
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
      gate.heal();
      clock.setAhead(11_000);
    }
  });

  test('[AA63] an error inside a 200 before output in the form of the error table, on native routes too', async () => {
    const error = { code: 400, message: 'Invalid key sk-abcdef1234567.', metadata: { raw: 'x' } };
    first.next.push(answers(200, `data: ${JSON.stringify({ type: 'error', error })}\n\n`, { 'content-type': 'text/event-stream' }));
    const { status, text } = await gate.send(NATIVE, { body: turnBody('hi') });
    const { type, response } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
    assert.deepEqual([status, type], [200, 'response.failed']);
    assert.deepEqual(response.error, {
      message: 'Invalid key [redacted].',
      type: 'invalid_request_error',
      code: 'upstream_error',
      param: null,
    });
  });

  test('[AA63] [AM11] [AM16] an error inside a 200 that blames the request is a refusal of it, without a code of another status', async () => {
    const failed = `data: ${JSON.stringify({ error: { code: 400, message: 'No.' } })}\n\n`;
    const answer = answers(200, failed, { 'content-type': 'text/event-stream' });
    first.next.push(answer, answer);
    const open = await turn();
    assert.deepEqual([open.status, open.json.error.type, open.json.error.code], [400, 'invalid_request_error', null]);
    const body = { model: 'model-a', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
    const { status, json } = await gate.send('/v1/messages', { body });
    assert.deepEqual([status, json.error.type, json.error.message], [400, 'invalid_request_error', 'No.']);
  });

  test('[RB21] [AA59] a native client gets response.failed of an error whose type is only the name of its event', async () => {
    const answer = answers(200, 'event: error\ndata: {"message":"No."}\n\n', { 'content-type': 'text/event-stream' });
    first.next.push(answer);
    second.next.push(answer);
    const { status, text } = await gate.send(NATIVE, { body: turnBody('hi') });
    const { type, response } = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}');
    assert.deepEqual([status, type, response?.status, response?.error.message], [200, 'response.failed', 'failed', 'No.'], text);
  });

  test('[AA59] an error inside a 200 goes to another account before output, and to the client after it', async () => {
    const broken = { type: 'error', error: { code: 429, message: 'slow down' } };
    const [created, progress] = textEvents('x');
    const stream =
      (events: readonly (JsonObject | undefined)[]): PlatformAnswer =>
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
        response.end();
      };
    first.next.push(stream([created, progress, broken]));
    const moved = await turn();
    assert.deepEqual([moved.status, second.requests.length], [200, 1]);
    gate.heal();
    second.clear();
    first.next.push(stream([...textEvents('hello').slice(0, 5), broken]));
    const shown = await gate.send(PUBLIC, { body: { model: 'model-a', input: 'hi', stream: true } });
    assert.equal(second.requests.length, 0);
    assert.match(shown.text, /"code":"rate_limit_exceeded"/);
  });
});

test('[AA1] the status of accounts of other APIs is one that the commands read', async () => {
  const status: unknown = await (await fetch(`${gate.adminUrl}/api/status`)).json();
  assert.ok(isStatusReply(status));
  assert.deepEqual(
    status.accounts.map(({ compaction }) => compaction.way),
    ['summary', 'summary'],
  );
});
