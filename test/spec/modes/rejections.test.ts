// The answer to a final refusal of a provider under explicit Full, auto and Lite: on the wire and in the request row.
import assert from 'node:assert/strict';
import { after, afterEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, type Reply, startGateway } from '../../support/gateway.ts';
import { modelEntry, replyEvents, replyJson } from '../../support/rehearsal-replies.ts';
import { byTurns } from '../../support/sample.ts';
import { CHAT, CHAT_ALIAS, isCompatible, turnOn } from '../../support/turns/turn-paths.ts';

const MARKER = 'x-internal-agent-responses-lite';
const NATIVE = '/backend-api/agent/responses';
const ROUTES = [
  { path: NATIVE, stream: true },
  { path: NATIVE, stream: false },
  { path: '/backend-api/agent/v1/responses', stream: true },
  { path: '/v1/responses', stream: true },
  { path: '/v1/responses', stream: false },
  { path: CHAT, stream: true },
  { path: CHAT_ALIAS, stream: false },
] as const;
const nextRoutes = byTurns(ROUTES);

/** Texts of a provider that must not reach a client under explicit Full. */
const SECRET = { message: 'secret words of the provider', type: 'invalid_request_error', code: 'secret_code', param: 'secret.param' };

const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  // Each model has an account that would take it in Lite, so a turn that is refused in Full could be tried again.
  upstream: {
    accounts: ['north', 'south'],
    manners: { streamedUnstoredLists: false },
    models: [
      modelEntry({ slug: 'explicit-full', use_responses_lite: true }),
      modelEntry({ slug: 'explicit-lite', use_responses_lite: false }),
      modelEntry({ slug: 'auto-lite', use_responses_lite: true }),
      modelEntry({ slug: 'auto-full', use_responses_lite: false }),
    ],
  },
  config: (draft: Draft) => {
    draft.pools[0].serving_modes = { 'explicit-full': 'full', 'explicit-lite': 'lite' };
    draft.pools[0].strategy = 'fill_first';
  },
});
after(() => gate.close());
afterEach(() => {
  gate.heal();
  gate.upstream.clear();
  clock.setAhead(3_600_000);
});

interface Refused {
  readonly reply: Reply;
  readonly attempts: number;
}

/** Both accounts refuse with this status; each attempt has the marker of its mode. */
async function refused(model: string, route: (typeof ROUTES)[number], status: number, error: JsonObject = SECRET): Promise<Refused> {
  const { path, stream } = route;
  gate.heal();
  gate.upstream.clear();
  clock.setAhead(3_600_000);
  for (const account of ['north', 'south']) gate.upstream.always(account, replyJson({ error, secret: 'secret member' }, { status }));
  const reply = await gate.send(path, { body: turnOn(path, 'hi', { model, stream }) });
  const markers = gate.upstream.turns().map(({ headers }) => headers[MARKER]);
  assert.deepEqual(new Set(markers), new Set([model.endsWith('lite') ? 'true' : undefined]), 'no attempt in another mode');
  return { reply, attempts: markers.length };
}

async function classOf({ headers }: Reply): Promise<unknown> {
  const row = await gate.row({ headers });
  return row?.error_class;
}

const FIXED = {
  message: 'The provider rejected this request.',
  type: 'invalid_request_error',
  code: 'full_upstream_rejection',
  param: null,
};

for (const [status, shown] of [
  [400, 400],
  [404, 404],
  [409, 409],
  [413, 413],
  [422, 422],
  [405, 400],
  [408, 400],
  [418, 400],
  [451, 400],
] as const) {
  test(`[F2.13] under explicit Full a ${status} is a ${shown} with a fixed message and a class, after one attempt`, async () => {
    for (const route of nextRoutes()) {
      const { reply, attempts } = await refused('explicit-full', route, status);
      assert.deepEqual([reply.status, reply.json, attempts], [shown, { error: FIXED }, 1]);
      assert.equal(await classOf(reply), 'full_upstream_rejection');
    }
  });

  for (const model of ['auto-full', 'auto-lite', 'explicit-lite']) {
    test(`[F2.13] in ${model} a ${status} has no error code of its own`, async () => {
      for (const route of nextRoutes()) {
        const { reply, attempts } = await refused(model, route, status);
        assert.equal(attempts, 1);
        assert.equal(await classOf(reply), 'upstream_status');
        if (!isCompatible(route.path)) assert.deepEqual([reply.status, reply.json.error], [status, SECRET]);
        else if (status === shown) assert.deepEqual([reply.status, reply.json.error], [status, SECRET]);
        else assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error']);
      }
    });
  }
}

for (const status of [401, 402, 403, 407]) {
  for (const model of ['explicit-full', 'auto-full', 'auto-lite', 'explicit-lite']) {
    test(`[F2.13] in ${model} a ${status} blames the account: 502 when every account answers so`, async () => {
      for (const route of nextRoutes()) {
        const { reply } = await refused(model, route, status);
        assert.deepEqual([reply.status, reply.json.error.code, reply.json.error.param], [502, 'upstream_error', null]);
        assert.doesNotMatch(reply.text, /secret/);
        assert.equal(await classOf(reply), model === 'explicit-full' ? 'full_upstream_rejection' : 'upstream_status');
      }
    });
  }
}

for (const model of ['explicit-full', 'auto-full', 'auto-lite', 'explicit-lite']) {
  test(`[F2.13] in ${model} a 429 is upstream_rate_limited, and the client gets the usual answer`, async () => {
    for (const route of nextRoutes()) {
      const { reply, attempts } = await refused(model, route, 429);
      assert.deepEqual([reply.status, attempts, await classOf(reply)], [429, 2, 'upstream_rate_limited']);
      if (isCompatible(route.path)) assert.equal(reply.json.error.code, 'rate_limit_exceeded');
      else assert.deepEqual(reply.json.error, SECRET);
    }
  });

  test(`[F2.13] in ${model} an exhausted quota at every account is usage_limit_reached, and upstream_rate_limited on the row`, async () => {
    for (const route of nextRoutes()) {
      const { reply } = await refused(model, route, 429, { ...SECRET, code: 'usage_limit_reached', resets_in_seconds: 60 });
      assert.deepEqual([reply.status, reply.json.error.code], [429, 'usage_limit_reached']);
      assert.equal(await classOf(reply), 'upstream_rate_limited');
    }
  });

  for (const status of [500, 502, 503, 529]) {
    test(`[F2.13] in ${model} a ${status} is upstream_status, and the client gets the usual answer`, async () => {
      for (const route of nextRoutes()) {
        const { reply, attempts } = await refused(model, route, status);
        assert.deepEqual([attempts, await classOf(reply)], [2, 'upstream_status']);
        if (isCompatible(route.path)) assert.deepEqual([reply.status, reply.json.error.code], [502, 'upstream_error']);
        else assert.deepEqual([reply.status, reply.json.error], [status, SECRET]);
      }
    });
  }

  test(`[F2.13] in ${model} a refusal inside a 200 is not a 4xx: it has no class, and its code decides the answer`, async () => {
    const error = { code: 'invalid_prompt', message: 'No.' };
    const failed = { type: 'response.failed', response: { id: 'resp_1', status: 'failed', error } };
    for (const account of ['north', 'south']) gate.upstream.always(account, replyEvents([failed]));
    for (const path of ['/v1/responses', CHAT]) {
      const { status, json, headers } = await gate.send(path, { body: turnOn(path, 'hi', { model, stream: false }) });
      assert.deepEqual([status, json.error.code], [400, 'invalid_prompt']);
      const row = await gate.row({ headers });
      assert.equal(row?.error_class, null);
    }
  });
}

test('[F2.13] under explicit Full an account that lacks the model is skipped, and the turn stays Full', async () => {
  for (const route of nextRoutes()) {
    gate.heal();
    gate.upstream.clear();
    clock.setAhead(3_600_000);
    gate.upstream.next('north', 'refuse 404 model_not_found');
    const reply = await gate.send(route.path, { body: turnOn(route.path, 'hi', { model: 'explicit-full', stream: route.stream }) });
    assert.deepEqual([reply.status, gate.upstream.turns().map(({ account }) => account)], [200, ['north', 'south']]);
    assert.ok(gate.upstream.turns().every(({ headers }) => headers[MARKER] === undefined));
  }
});
