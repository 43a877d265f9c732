// Keys over the admin API: each edit is in the file with its comments, has taken effect when it is answered, and is audited with its
// operator.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { stage } from './stage.ts';

const ROUTE = '/backend-api/agent/responses';
const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });

test('[S9] a key is created, rotated, paused, resumed and revoked; each answer states what is in force', async (context) => {
  const { as, gate, content, file } = await stage(context, {
    comment: (text) => text.replace('  - id: ci', '  # of the pipelines\n  - id: ci # the first one'),
  });
  const turn = async (secret: string): Promise<number> =>
    (await gate.send(ROUTE, { body: turnBody('hello'), headers: bearer(secret) })).status;
  const made = await as('ops', 'POST /api/keys', {
    body: { id: 'nightly', pool: 'team', models: ['model-a'], limits: { requests_per_day: 5 }, reasoning_effort: { allow_up_to: 'high' } },
  });
  assert.equal(made.status, 200, made.text);
  const { secret, key, changed, version } = made.json;
  assert.match(secret, /^pg-[\w-]{43}$/);
  assert.deepEqual([changed, key.id, key.status, key.models, key.limits[0].max], [true, 'nightly', 'active', ['model-a'], 5]);
  assert.deepEqual(key.reasoning_effort, { mode: 'allow_up_to', effort: 'high' });
  assert.equal(await turn(secret), 200, 'in force at once');
  assert.deepEqual(content().keys[2].secret_sha256, [hash('sha256', secret, 'hex')]);
  assert.match(file(), / {2}# of the pipelines\n {2}- id: ci # the first one\n/);

  const rotated = (await as('ops', 'POST /api/keys/nightly/rotate')).json;
  assert.deepEqual([await turn(secret), await turn(rotated.secret)], [200, 200], 'both secrets work');
  assert.notEqual(rotated.version, version);

  const paused = (await as('ops', 'POST /api/keys/nightly/pause')).json;
  assert.deepEqual([paused.key.status, paused.changed, await turn(secret)], ['paused', true, 401]);
  assert.equal((await as('ops', 'POST /api/keys/nightly/pause')).json.changed, false);
  assert.equal((await as('ops', 'POST /api/keys/nightly/resume')).json.key.status, 'active');
  assert.equal(await turn(secret), 200);
  assert.equal((await as('ops', 'POST /api/keys/nightly/revoke')).json.key.status, 'revoked');
  assert.equal(await turn(secret), 401);
  for (const verb of ['resume', 'pause', 'rotate']) {
    const { status, json } = await as('ops', `POST /api/keys/nightly/${verb}`);
    assert.deepEqual([status, json.code, json.error], [409, 'conflict', "key 'nightly' is revoked, and that is final"]);
  }
  const rows = [...(await gate.audit('key.create')), ...(await gate.audit('key.change'))];
  assert.deepEqual(
    rows.map(({ actor, action, target, pool }) => `${actor} ${action} ${target} ${pool}`),
    ['operator:ops key.create nightly team', ...Array(4).fill('operator:ops key.change nightly team')],
  );
  assert.deepEqual(new Set((await gate.audit('config.reload')).map(({ actor }) => actor)), new Set(['operator:ops']));
});

test('limits, models and policies of a key change one by one, and null removes them', async (context) => {
  const { as, content, file } = await stage(context, {
    config: (draft) => {
      draft.keys[0] = {
        ...draft.keys[0],
        models: ['model-a', 'model-b', 'model-c'],
        limits: { requests_per_minute: 60, tokens_per_day: 1000 },
      };
    },
    comment: (text) =>
      text
        .replace('      requests_per_minute: 60', '      requests_per_minute: 60 # as agreed')
        .replace('      - model-b', '      - model-b # the small one'),
  });
  const change = async (body: unknown) => {
    const answer = await as('ops', 'PATCH /api/keys/ci', { body });
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  };
  const first = await change({
    limits: { requests_per_minute: 30, tokens_per_day: null, usd_per_week: 2.5 },
    models: ['model-b', 'model-d'],
    reasoning_effort: { always: 'low' },
    output_tokens: { max: 32000 },
    expires_at: '2999-01-01T00:00:00Z',
  });
  assert.deepEqual(
    first.key.limits.map(({ type, window, max }: Record<string, unknown>) => [type, window, max]),
    [
      ['requests', 'minute', 30],
      ['usd', 'week', 2.5],
    ],
  );
  assert.deepEqual([first.key.models, first.key.max_output_tokens], [['model-b', 'model-d'], 32000]);
  assert.deepEqual(content().keys[0].limits, { requests_per_minute: 30, usd_per_week: 2.5 });
  assert.match(file(), /requests_per_minute: 30 # as agreed\n/);
  assert.match(file(), /- model-b # the small one\n/);
  assert.equal((await change({ models: ['model-d', 'model-b'], limits: { requests_per_minute: 30 } })).changed, false, 'it is so already');

  const second = await change({ reasoning_effort: { allow_up_to: 'high' }, output_tokens: { max: 5 } });
  assert.deepEqual(second.key.reasoning_effort, { mode: 'allow_up_to', effort: 'high' });
  assert.deepEqual(content().keys[0].reasoning_effort, { allow_up_to: 'high' });
  const last = await change({ limits: null, models: null, reasoning_effort: null, output_tokens: null, expires_at: null });
  assert.deepEqual(
    [last.key.limits, last.key.models, last.key.reasoning_effort, last.key.max_output_tokens, last.key.expires_at],
    [[], null, null, null, null],
  );
  assert.deepEqual(Object.keys(content().keys[0]), ['id', 'pool', 'secret_sha256']);
});

test('an operator edits keys of the Pools that they own, and no others', async (context) => {
  const { as, file } = await stage(context);
  const before = file();
  for (const [operator, request, body, status, code, error] of [
    ['ops', 'POST /api/keys', { id: 'x', pool: 'lab' }, 403, 'not_permitted', "Pool 'lab' is not one that you own"],
    ['lab', 'POST /api/keys', { id: 'x', pool: 'team' }, 404, 'not_found', "there is no Pool 'team'"],
    ['ops', 'POST /api/keys/bench/pause', undefined, 403, 'not_permitted', "Pool 'lab' is not one that you own"],
    ['lab', 'POST /api/keys/ci/revoke', undefined, 404, 'not_found', "there is no key 'ci'"],
    ['ops', 'PATCH /api/keys/bench', { limits: null }, 403, 'not_permitted', "Pool 'lab' is not one that you own"],
    ['ops', 'POST /api/keys/bench/rotate', undefined, 403, 'not_permitted', "Pool 'lab' is not one that you own"],
    ['ops', 'PUT /api/pools/lab/modes/model-a', { mode: 'lite' }, 403, 'not_permitted', "Pool 'lab' is not one that you own"],
    ['ops', 'POST /api/tokens', { operator: 'eve', admin: true }, 403, 'not_permitted', 'only an operator with `admin: true` may do this'],
    ['ops', 'GET /api/tokens', undefined, 403, 'not_permitted', 'only an operator with `admin: true` may do this'],
    ['ops', 'DELETE /api/tokens/root/00000000', undefined, 403, 'not_permitted', 'only an operator with `admin: true` may do this'],
    ['ops', 'GET /api/config', undefined, 403, 'not_permitted', 'only an operator with `admin: true` may do this'],
    ['ops', 'GET /api/nodes', undefined, 403, 'not_permitted', 'only an operator with `admin: true` may do this'],
    ['root', 'POST /api/keys/none/pause', undefined, 404, 'not_found', "there is no key 'none'"],
    ['root', 'PUT /api/pools/taem/modes/model-a', { mode: 'lite' }, 404, 'not_found', "there is no Pool 'taem'; did you mean 'team'?"],
  ] as const) {
    const { json, ...answer } = await as(operator, request, { body });
    assert.deepEqual([answer.status, json], [status, { error, code }], `${operator} ${request}`);
  }
  assert.equal((await as('root', 'POST /api/keys/bench/pause')).json.key.status, 'paused');
  assert.notEqual(file(), before);
});

test('the right is that of the file: a key that the file has moved to another Pool is not edited', async (context) => {
  const { as, file, path } = await stage(context);
  writeFileSync(path, file().replace('id: ci\n    pool: team', 'id: ci\n    pool: lab'));
  const { status, json } = await as('ops', 'POST /api/keys/ci/pause');
  assert.deepEqual([status, json.error], [403, "Pool 'lab' is not one that you own"]);
  assert.doesNotMatch(file(), /status/);
});

test('a wrong body is named, and nothing changes', async (context) => {
  const { as, file } = await stage(context);
  const before = file();
  for (const [request, body, error] of [
    ['POST /api/keys', {}, /^the member id is missing$/],
    ['POST /api/keys', { id: 'two words', pool: 'team' }, /^id takes an id: 1 to 64 letters/],
    ['POST /api/keys', { id: 'x', pool: 'team', secret: 's' }, /^there is no member secret; known: id, pool, /],
    ['POST /api/keys', { id: 'x', pool: 'team', expires_at: '2020-01-01T00:00:00Z' }, /^expires_at 2020-01-01T00:00:00Z is in the past$/],
    ['PATCH /api/keys/ci', { limits: { requests_per_minute: 0 } }, /^limits\.requests_per_minute must be >= 1$/],
    ['PATCH /api/keys/ci', { limits: { requests_per_hour: 5 } }, /^there is no member requests_per_hour; known: requests_per_minute, /],
    ['PATCH /api/keys/ci', { reasoning_effort: { up_to: 'high' } }, /^there is no member up_to/],
    ['PATCH /api/keys/ci', { models: 'model-a' }, /^models must be array,null$/],
    ['PATCH /api/keys/ci', 'no json', undefined],
    ['PUT /api/pools/team/modes/model-a', { mode: 'LITE' }, /^mode takes one of auto, lite, full$/],
  ] as const) {
    const { status, json } = await as('root', request, { body });
    if (error === undefined) assert.equal(json.changed, false, 'no body changes nothing');
    else {
      assert.deepEqual([status, json.code], [400, 'invalid_request'], `${request} ${JSON.stringify(body)}`);
      assert.match(json.error, error);
    }
  }
  const twice = await as('root', 'POST /api/keys', { body: { id: 'ci', pool: 'team' } });
  assert.deepEqual([twice.status, twice.json.code], [409, 'conflict']);
  const unknown = await as('root', 'POST /api/keys', { body: { id: 'x', pool: 'team', expires_at: '2999-02-29T00:00:00Z' } });
  assert.deepEqual([unknown.status, unknown.json.code], [422, 'invalid_configuration']);
  assert.match(unknown.json.findings[0].message, /this date or time does not exist$/);
  assert.equal(file(), before);
});

test('a write without the header of the listener is refused, and so is one from another page', async (context) => {
  const { gate, file } = await stage(context, { onLoopback: true });
  const before = file();
  for (const headers of [{}, { 'x-poolgate-command': '1', origin: 'http://evil.example' }]) {
    const response = await fetch(`${gate.adminUrl}/api/keys/ci/revoke`, { method: 'POST', headers: headers as Record<string, string> });
    assert.equal(response.status, 403);
  }
  assert.equal(file(), before);
});
