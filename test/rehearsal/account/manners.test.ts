// The manners of simulated accounts: what an ordinary account does and a polite one does not do.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PROFILES } from '../../../proxy/rehearsal/account/account-profiles.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import { startUpstream, type Upstream } from '../../support/rehearsal.ts';
import { ask, at, heard } from '../../support/rehearsal-client.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { field, file, NATIVE as TRANSCRIBE } from '../../support/stages/audio.ts';
import { connect } from '../../support/websocket.ts';

let upstream: Upstream;
before(async () => {
  upstream = await startUpstream({ accounts: ['strict', { id: 'polite', profile: PROFILES.polite }] });
});
after(() => upstream.close());

const TURNS = '/backend-api/agent/responses';

/** The events of a turn, over HTTP and on a websocket. */
const CARRIERS: Readonly<Record<string, (account: string, body: JsonObject) => Promise<readonly JsonObject[]>>> = {
  'over HTTP': async (account, body) => (await ask(upstream.urlOf(account), body)).events,
  'on a websocket': async (account, body) => {
    using socket = await connect({ url: upstream.urlOf(account) }, TURNS, { key: null });
    return (await socket.turn(body)).filter(({ type }) => !String(type).endsWith('metadata') && type !== 'agent.rate_limits');
  },
};

for (const [carrier, events] of Object.entries(CARRIERS)) {
  describe(carrier, () => {
    test('[RB21] an error event inside a turn has neither a status nor a code beside its error', async () => {
      upstream.next('strict', 'refuse inside as error');
      upstream.next('polite', 'refuse inside as error');
      const message = 'The servers are overloaded; try again later.';
      const code = 'server_is_overloaded';
      const error = { message, type: 'service_unavailable_error', code, param: null };
      assert.deepEqual((await events('strict', turnBody('hello'))).at(-1), { type: 'error', sequence_number: 2, error });
      assert.deepEqual((await events('polite', turnBody('hello'))).at(-1), {
        type: 'error',
        sequence_number: 2,
        code,
        message,
        param: null,
        error: { ...error, type: 'server_error' },
      });
    });

    test('[RB22] a usage limit has a type and no code', async () => {
      const errorOf = async (account: string): Promise<Json | undefined> => {
        upstream.next(account, 'refuse 429 usage_limit_reached resets 60');
        if (carrier === 'over HTTP') return at((await ask(upstream.urlOf(account))).json, 'error');
        return at((await events(account, turnBody('hello'))).at(-1), 'error');
      };
      const strict = (await errorOf('strict')) as JsonObject;
      assert.deepEqual(Object.keys(strict), ['message', 'type', 'plan_type', 'resets_at', 'resets_in_seconds']);
      assert.deepEqual([strict.type, strict.resets_in_seconds], ['usage_limit_reached', 60]);
      assert.equal(at(await errorOf('polite'), 'code'), 'usage_limit_reached');
    });
  });
}

describe('refused credentials', () => {
  test('[RB5] are refused in the words of the backend, with the code in a header too', async () => {
    upstream.next('strict', 'refuse 401 token_revoked', 'refuse 402 deactivated_workspace');
    const revoked = await ask(upstream.urlOf('strict'));
    const error = {
      message: 'Your authentication token has been revoked. Please try signing in again.',
      type: 'invalid_request_error',
      code: 'token_revoked',
      param: null,
    };
    assert.deepEqual([revoked.status, revoked.json], [401, { error, status: 401 }]);
    assert.equal(revoked.headers.get('x-openai-authorization-error'), 'token_revoked');
    const closed = await ask(upstream.urlOf('strict'));
    assert.deepEqual([closed.status, closed.json], [402, { detail: { code: 'deactivated_workspace' } }]);
    upstream.next('polite', 'refuse 401');
    assert.equal(at((await ask(upstream.urlOf('polite'))).json, 'error', 'message'), 'The credential has expired; log in again.');
  });
});

test('[RB22] [RB23] the headers of a usage limit state the spent window, its reset and the reason', async () => {
  upstream.next('strict', 'refuse 429 usage_limit_reached resets 60');
  const { headers, json } = await ask(upstream.urlOf('strict'));
  assert.equal(headers.get('x-agent-primary-used-percent'), '100');
  assert.equal(headers.get('x-agent-primary-reset-at'), String(at(json, 'error', 'resets_at')));
  assert.equal(headers.get('x-agent-rate-limit-reached-type'), 'rate_limit_reached');
});

describe('[RB40] a transcription', () => {
  const transcribed = async (account: string, ...names: readonly string[]) => {
    const body = formOf([file(), field('language', 'de'), ...names.map((name) => field('model', name))]);
    return await heard(await fetch(upstream.urlOf(account) + TRANSCRIBE, { method: 'POST', headers: { 'content-type': FORM_TYPE }, body }));
  };

  test('needs no model, and is answered with the text alone', async () => {
    for (const names of [[], ['gpt-4o-transcribe']]) {
      const { status, json } = await transcribed('strict', ...names);
      assert.deepEqual([status, Object.keys(json ?? {})], [200, ['text']]);
    }
    assert.equal((await transcribed('strict', 'another')).status, 400);
  });

  test('names its model at a polite account, and is answered with usage', async () => {
    assert.equal((await transcribed('polite')).status, 400);
    const { status, json } = await transcribed('polite', 'gpt-4o-transcribe');
    assert.deepEqual([status, at(json, 'usage', 'total_tokens')], [200, 20]);
  });
});
