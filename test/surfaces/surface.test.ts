// The answer of each surface to a provider's refusal, a failure event and headers (Q1, Q2, Q3, Q8, Q15).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { nativeSurface } from '../../proxy/surfaces/native/native-surface.ts';
import { publicSurface } from '../../proxy/surfaces/public/public-surface.ts';
import { carrierFailure, type Failure, inBandFailure, statusFailure } from '../../proxy/turn/errors/failure.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { Confidential } from '../../proxy/turn/errors/sanitise.ts';
import type { Json } from '../../proxy/turn/json/json.ts';
import type { Surface } from '../../proxy/turn/surface.ts';

const NOW = 1_700_000_000_000;
const SECRET = 'bearer-of-north';
const wire = { agent: 'agent', meter: 'meter', lite_marker: 'x-internal-agent-responses-lite', client_version: '0.0.0' };
const options = { wire, hideQuota: false, as: 'frame', responseId: undefined } as const;
const known: Confidential = { secrets: () => [SECRET], prompt: () => 'a prompt' };

const ofStatus = (status: number, body: Json | string, headers: Readonly<Record<string, string>> = {}): Failure =>
  statusFailure(
    status,
    { 'content-type': 'application/json', ...headers },
    Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
    NOW,
  );

const inside = (error: Readonly<Record<string, string>>): Failure => inBandFailure({ type: 'response.failed', response: { error } }, NOW);

/** `[status, code]` for a refusal of the gateway; `[status, code, body]` for an answer of a provider. */
function answerOf(surface: Surface, failure: Failure): readonly unknown[] {
  const answer = surface.refusalOf(failure, options, known);
  if (answer instanceof Refusal) return [answer.status, answer.error.code];
  return [answer.status, answer.code, JSON.parse(answer.body)];
}

const error = (code: string, message = 'No.') => ({ error: { message, code, type: 'invalid_request_error', param: null } });

describe('[Q1] [Q3] the client’s answer to a provider’s refusal', () => {
  interface Case {
    readonly what: string;
    readonly failure: Failure;
    readonly native: readonly unknown[];
    readonly public: readonly unknown[];
  }
  const relayed = (status: number, body = error('invalid_value')): Case => ({
    what: `${status} that blames the request`,
    failure: ofStatus(status, body),
    native: [status, 'invalid_value', body],
    public: [status, 'invalid_value'],
  });
  const CASES: readonly Case[] = [
    ...[400, 404, 409, 413, 422].map((status) => relayed(status)),
    {
      what: 'a status that SDKs do not know',
      failure: ofStatus(418, error('invalid_value')),
      native: [418, 'invalid_value', error('invalid_value')],
      public: [502, 'upstream_error'],
    },
    {
      what: 'a 400 without an error in it',
      failure: ofStatus(400, { ok: false }),
      native: [400, 'upstream_error', { ok: false }],
      public: [502, 'upstream_error'],
    },
    {
      what: 'a failure of the server',
      failure: ofStatus(503, error('server_is_overloaded')),
      native: [503, 'server_is_overloaded', error('server_is_overloaded')],
      public: [502, 'upstream_error'],
    },
    {
      what: 'a limited rate',
      failure: ofStatus(429, error('rate_limit_exceeded')),
      native: [429, 'rate_limit_exceeded', error('rate_limit_exceeded')],
      public: [429, 'rate_limit_exceeded'],
    },
    {
      what: 'an exhausted quota',
      failure: ofStatus(429, error('usage_limit_reached')),
      native: [429, 'usage_limit_reached', error('usage_limit_reached')],
      public: [429, 'rate_limit_exceeded'],
    },
    {
      what: 'an unpaid account',
      failure: ofStatus(402, error('payment_required')),
      native: [502, 'upstream_error'],
      public: [502, 'upstream_error'],
    },
    { what: 'a redirect', failure: ofStatus(302, ''), native: [502, 'upstream_error'], public: [502, 'upstream_error'] },
    {
      what: 'a refused request inside a 200',
      failure: inside({ code: 'invalid_prompt', message: 'No.' }),
      native: [400, 'invalid_prompt'],
      public: [400, 'invalid_prompt'],
    },
    {
      what: 'a failure inside a 200',
      failure: inside({ code: 'server_error', message: 'No.' }),
      native: [502, 'upstream_error'],
      public: [502, 'upstream_error'],
    },
    {
      what: 'a limited rate inside a 200',
      failure: inside({ code: 'rate_limit_exceeded', message: 'No.' }),
      native: [429, 'rate_limit_exceeded'],
      public: [429, 'rate_limit_exceeded'],
    },
    {
      what: 'no answer',
      failure: carrierFailure('network'),
      native: [502, 'upstream_error'],
      public: [502, 'upstream_error'],
    },
  ];
  for (const one of CASES) {
    test(`${one.what}: native ${one.native.slice(0, 2).join(' ')}, public ${one.public.join(' ')}`, () => {
      assert.deepEqual(answerOf(nativeSurface, one.failure), one.native);
      assert.deepEqual(answerOf(publicSurface, one.failure), one.public);
    });
  }

  test('is sanitised on both surfaces, and an unknown code is not in the row', () => {
    const failure = ofStatus(400, error('told_by_the_client', `Key ${SECRET} of org-123456.`));
    const native = nativeSurface.refusalOf(failure, options, known);
    const shown = publicSurface.refusalOf(failure, options, known);
    assert.ok(!(native instanceof Refusal) && shown instanceof Refusal);
    assert.deepEqual([JSON.parse(native.body).error.message, native.code], ['Key [redacted] of [redacted].', 'upstream_error']);
    assert.deepEqual(
      [shown.error.message, shown.error.code, shown.loggedCode],
      ['Key [redacted] of [redacted].', 'told_by_the_client', 'upstream_error'],
    );
  });

  test('has the provider’s type on native, and the one of a bad request on public', () => {
    const failure = ofStatus(404, { error: { message: 'No.', code: 'not_found', type: 'some_type' } });
    assert.deepEqual(answerOf(nativeSurface, failure)[2], { error: { message: 'No.', code: 'not_found', type: 'some_type' } });
    const shown = publicSurface.refusalOf(failure, options, known);
    assert.ok(shown instanceof Refusal);
    assert.equal(shown.error.type, 'invalid_request_error');
  });

  test('that is not JSON is a sanitised text on native', () => {
    const answer = nativeSurface.refusalOf(ofStatus(500, `<p>user_123456 ${SECRET}</p>`), options, known);
    assert.ok(!(answer instanceof Refusal));
    assert.equal(answer.body, '<p>[redacted] [redacted]</p>');
  });

  test('keeps the wait of a limited rate on both surfaces', () => {
    const failure = ofStatus(429, error('rate_limit_exceeded'), { 'retry-after': '7' });
    const native = nativeSurface.refusalOf(failure, options, known);
    const shown = publicSurface.refusalOf(failure, options, known);
    assert.deepEqual([native.headers['retry-after'], shown.headers['retry-after']], ['7', '7']);
  });

  test('has the account’s headers of the native list in an object of its own', () => {
    const headers = { 'set-cookie': 'a=1', 'x-agent-own': 'yes', 'x-request-id': 'req_1', 'x-agent-primary-used-percent': '5' };
    const failure = ofStatus(400, error('invalid_value'), headers);
    const shown = nativeSurface.refusalOf(failure, options, known);
    const hidden = nativeSurface.refusalOf(failure, { wire, hideQuota: true }, known);
    assert.deepEqual(shown.headers, { 'content-type': 'application/json', 'x-agent-own': 'yes', 'x-agent-primary-used-percent': '5' });
    assert.deepEqual(hidden.headers, { 'content-type': 'application/json', 'x-agent-own': 'yes' });
    assert.notEqual(shown.headers, failure.answer?.headers);
  });
});

describe('[Q2] [Q3] a failure event', () => {
  const data = {
    type: 'error',
    sequence_number: 3,
    code: 'server_error',
    message: `Down for ${SECRET}.`,
    error: { code: 'server_error', message: `Down for ${SECRET}.`, user: 'u' },
  };
  const failure = inBandFailure(data, NOW);

  test('is the provider’s on native, without the owner', () => {
    assert.deepEqual(nativeSurface.failureEvent(data, failure, known, options), {
      type: 'error',
      sequence_number: 3,
      code: 'server_error',
      message: 'Down for [redacted].',
      error: { code: 'server_error', message: 'Down for [redacted].' },
    });
  });

  test('keeps of its headers on native those that an answer may have, and no quota where the Pool hides it', () => {
    const quota = { 'X-Agent-Primary-Used-Percent': 80 };
    const passed = { 'retry-after': '7', 'x-agent-turn-state': 's' };
    const owners = { 'set-cookie': 'a=1', 'openai-organization': 'org-123456', 'x-request-id': 'req_123456' };
    const event = { ...data, headers: { ...quota, ...passed, ...owners }, account_id: 'acct_123456', request_id: 'req_123456' };
    const { headers, ...members } = nativeSurface.failureEvent(event, failure, known, options);
    assert.deepEqual(members, nativeSurface.failureEvent(data, failure, known, options));
    assert.deepEqual(headers, { ...quota, ...passed });
    assert.deepEqual(nativeSurface.failureEvent(event, failure, known, { ...options, hideQuota: true }).headers, passed);
    const clean = { type: 'error', code: 'c', headers: passed };
    assert.equal(nativeSurface.failureEvent(clean, failure, known, { ...options, hideQuota: true }), clean);
  });

  test('has the members of the SDK’s error event on public', () => {
    const shown = { message: 'Down for [redacted].', type: 'server_error', code: 'server_error', param: null };
    assert.deepEqual(publicSurface.failureEvent(data, failure, known, options), {
      type: 'error',
      sequence_number: 3,
      code: 'server_error',
      message: shown.message,
      param: null,
      error: shown,
    });
  });
});

describe('[F1.8] [Q17] the event of a stream that begins with a refusal', () => {
  const refused = inside({ code: 'usage_limit_reached', message: `Down for ${SECRET}.` });

  test('is the account’s own on native', () => assert.equal(nativeSurface.refusalEvent, undefined));

  test('is one error event on public: the provider’s code and text, the type and the reset of the collected answer', () => {
    const resetsAt = NOW / 1000 + 3_600;
    const event = publicSurface.refusalEvent?.(refused, new Refusal('usage_limit_reached', { resetsAt }), known);
    const { code, message, param } = { code: 'usage_limit_reached', message: 'Down for [redacted].', param: null };
    const shown = { message, type: 'usage_limit_reached', code, param, resets_at: resetsAt };
    assert.deepEqual(event, { type: 'error', data: { type: 'error', sequence_number: 0, code, message, param, error: shown } });
  });
});

describe('[Q3] [Q15] headers', () => {
  const request = {
    authorization: 'Bearer x',
    cookie: 'a=1',
    'user-agent': 'cli',
    traceparent: '00-1',
    'x-agent-window-id': 'w',
    'x-openai-subagent': 's',
    'x-responsesapi-include-timing-metrics': 'true',
    'openai-beta': 'b',
    'session-id': 's',
    session_id: 's',
    'x-forwarded-for': '10.0.0.1',
  };
  const answer = {
    'content-type': 'application/json',
    'set-cookie': 'a=1',
    'openai-model': 'm',
    'openai-organization': 'org',
    'openai-processing-ms': '1',
    'retry-after': '7',
    'x-agent-turn-state': 'ts',
    'x-agent-primary-used-percent': '5',
    'x-reasoning-included': 'true',
    'x-agent-odd': 'line\u2028break',
  };

  test('of a request: those of the native protocol pass for native clients, only tracing headers for SDK clients', () => {
    assert.deepEqual(nativeSurface.requestHeaders(request, wire), {
      'user-agent': 'cli',
      traceparent: '00-1',
      'x-agent-window-id': 'w',
      'x-openai-subagent': 's',
      'x-responsesapi-include-timing-metrics': 'true',
      'openai-beta': 'b',
      session_id: 's',
    });
    assert.deepEqual(publicSurface.requestHeaders(request, wire), { 'user-agent': 'cli', traceparent: '00-1' });
  });

  test('of an answer: none that names the owner or cannot be written, and quota unless it is hidden', () => {
    const native = {
      'content-type': 'application/json',
      'openai-model': 'm',
      'openai-processing-ms': '1',
      'retry-after': '7',
      'x-agent-turn-state': 'ts',
      'x-reasoning-included': 'true',
    };
    assert.deepEqual(nativeSurface.answerHeaders(answer, options), { ...native, 'x-agent-primary-used-percent': '5' });
    assert.deepEqual(nativeSurface.answerHeaders(answer, { ...options, hideQuota: true }), native);
    assert.deepEqual(publicSurface.answerHeaders(answer, options), {
      'openai-model': 'm',
      'openai-processing-ms': '1',
      'x-reasoning-included': 'true',
    });
  });

  test('are fresh objects, which an attempt may edit', () => {
    for (const surface of [nativeSurface, publicSurface]) {
      const made = surface.requestHeaders(request, wire);
      made['user-agent'] = 'changed';
      surface.answerHeaders(answer, options)['openai-model'] = 'changed';
      assert.deepEqual([request['user-agent'], answer['openai-model']], ['cli', 'm']);
    }
  });
});
