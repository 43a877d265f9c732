// Texts that are removed from a provider's error before a client sees it: the owner, the account's secrets, the prompt (Q1, Q3, S4).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ProviderError } from '../../../proxy/turn/errors/error-statement.ts';
import {
  type Confidential,
  endWithoutOwner,
  jsonWithoutOwner,
  publicError,
  publicFailure,
  safeCode,
  safeParam,
  withoutOwner,
} from '../../../proxy/turn/errors/sanitise.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';

const SECRET = 'bearer-of-north';
const PROMPT = 'the launch code is 00000000 and the word is supercalifragilistic';

const known: Confidential = { secrets: () => [SECRET], prompt: () => PROMPT };

describe('[Q3] a text of a provider', () => {
  const TEXTS: readonly (readonly [what: string, text: string, clean: string])[] = [
    ['keeps what names no owner', 'Invalid value: input[0].', 'Invalid value: input[0].'],
    ['loses a mail address', 'Plan of jane.doe+x@mail.example.com ended.', 'Plan of [redacted] ended.'],
    ['loses an organization id', 'Limit for org-AbCdEf123456 reached.', 'Limit for [redacted] reached.'],
    [
      'loses ids with other prefixes',
      'user_123456 acct-1234567 proj_abcdef ws-abcdef1 req_abcdef12',
      '[redacted] [redacted] [redacted] [redacted] [redacted]',
    ],
    ['loses a key, also a shortened one', 'Incorrect key sk-abc123def***xyz.', 'Incorrect key [redacted]***xyz.'],
    ['loses a JSON web token', 'Token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln expired.', 'Token [redacted] expired.'],
    ['loses a UUID', 'Account 01234567-89ab-CDEF-0123-456789abcdef.', 'Account [redacted].'],
    ['loses an address', 'From 203.0.113.7 too often.', 'From [redacted] too often.'],
    ['loses a page', 'See https://platform.example.com/account/billing today.', 'See [redacted] today.'],
    ['loses the account’s secret wherever it is', `a ${SECRET} b${SECRET}c`, 'a [redacted] b[redacted]c'],
  ];
  for (const [what, text, clean] of TEXTS) test(what, () => assert.equal(withoutOwner(text, [SECRET]), clean));

  test('is cut at 2,000 characters, and its secrets are removed before that', () => {
    const text = `${'x'.repeat(1_990)}${SECRET}${'y'.repeat(5_000)}`;
    const clean = withoutOwner(text, [SECRET]);
    assert.equal(clean.length, 2_000);
    assert.ok(!clean.includes('bearer'));
  });
});

describe('[Q3] JSON of a provider', () => {
  const MEMBERS = [
    'account',
    'account_id',
    'user',
    'user_id',
    'email',
    'org',
    'org_id',
    'organization',
    'organization_id',
    'project',
    'project_id',
    'plan_type',
    'request_id',
    'ray_id',
    'ip',
    'ip_address',
    'cookie',
    'cookies',
    'headers',
    'authorization',
    'api_key',
  ];
  for (const member of MEMBERS) {
    test(`loses \`${member}\` at every depth`, () => {
      const json = { [member]: 'x', kept: [{ [member]: { deep: 1 }, kept: true }] } as Json;
      assert.deepEqual(jsonWithoutOwner(json, []), { kept: [{ kept: true }] });
    });
  }

  test('keeps numbers, booleans and nulls, and has its texts sanitised', () => {
    const json = { a: 1, b: true, c: null, d: ['from 203.0.113.7', { e: SECRET }] };
    assert.deepEqual(jsonWithoutOwner(json, [SECRET]), { a: 1, b: true, c: null, d: ['from [redacted]', { e: '[redacted]' }] });
  });

  test('ends at a depth of 32', () => {
    let json: Json = { email: 'deep' };
    for (let i = 0; i < 50; i++) json = { in: json };
    let clean: Json | undefined = jsonWithoutOwner(json, []);
    let depth = 0;
    for (; clean !== null && typeof clean === 'object'; depth++) clean = (clean as JsonObject).in;
    assert.deepEqual([clean, depth], [null, 33]);
  });

  test('does not change its input', () => {
    const json = Object.freeze({ error: Object.freeze({ email: 'x', message: 'm' }) });
    assert.deepEqual(jsonWithoutOwner(json, []), { error: { message: 'm' } });
    assert.equal(json.error.email, 'x');
  });
});

describe('[Q3] a native failure event', () => {
  test('loses the owner in `error`, in `message` and in the error of its response; the rest of the response stays', () => {
    const data = {
      type: 'response.failed',
      message: 'for org-123456',
      error: { code: 'c', user_id: 'u' },
      response: { id: 'resp_1', user: 'an echo of the request', error: { code: 'c', message: 'of a@b.example.com', account_id: 'x' } },
    };
    assert.deepEqual(endWithoutOwner(data, []), {
      type: 'response.failed',
      message: 'for [redacted]',
      error: { code: 'c' },
      response: { id: 'resp_1', user: 'an echo of the request', error: { code: 'c', message: 'of [redacted]' } },
    });
  });

  test('is the same object where nothing was removed, so that its bytes pass', () => {
    const data = { type: 'error', code: 'c', error: { code: 'c', message: 'No.' }, message: 'No.' };
    assert.equal(endWithoutOwner(data, [SECRET]), data);
  });
});

describe('[Q1] [S4] a public error', () => {
  const error = (members: Partial<ProviderError>): ProviderError => ({ code: null, type: null, param: null, message: null, ...members });

  const ECHOES: readonly (readonly [what: string, message: string, clean: string])[] = [
    ['a quoted part of the prompt', 'Bad text "the launch code is" here.', 'Bad text "[redacted]" here.'],
    ['one in single quotes', "Bad text 'launch code is 0000' here.", "Bad text '[redacted]' here."],
    ['one in backticks', 'Bad text `code is 00000000` here.', 'Bad text `[redacted]` here.'],
    ['a long word of the prompt', 'Unknown supercalifragilistic given.', 'Unknown [redacted] given.'],
  ];
  for (const [what, message, clean] of ECHOES) {
    test(`loses ${what}`, () => assert.equal(publicError(error({ message }), known).message, clean));
  }

  for (const [what, message] of [
    ['short words of the prompt', 'Unknown word: launch.'],
    ['quoted text that is not in the prompt', 'Expected "a string of text" here.'],
    ['short quotes', 'Bad text "launch" here.'],
  ] as const) {
    test(`keeps ${what}`, () => assert.equal(publicError(error({ message }), known).message, message));
  }

  test('keeps its param in its message, also where the prompt has the same word', () => {
    const param = 'supercalifragilistic';
    assert.equal(publicError(error({ message: `Bad '${param}'.`, param }), known).message, `Bad '${param}'.`);
  });

  test('loses the secrets of the account', () => {
    assert.equal(publicError(error({ message: `Bad key ${SECRET}.` }), known).message, 'Bad key [redacted].');
  });

  test('has a fixed message and type where the provider gave none', () => {
    assert.deepEqual(publicError(error({}), known), {
      message: 'The provider refused the request.',
      type: 'server_error',
      code: null,
      param: null,
    });
  });

  test('loses members that are not identifiers', () => {
    const { type, code, param } = publicError(error({ type: 'a type', code: 'a code', param: 'a param' }), known);
    assert.deepEqual([type, code, param], ['server_error', null, null]);
  });
});

describe('[RM3] [Q33] the param', () => {
  for (const param of ['input', 'tools.0.parameters', 'input[3].content[0].text', 'a-b_c']) {
    test(`${param} is kept`, () => assert.equal(safeParam(param), param));
  }
  for (const param of [null, '', 'two words', 'é', 'a/b', 'x'.repeat(201)]) {
    test(`${JSON.stringify(param)?.slice(0, 20)} is null`, () => assert.equal(safeParam(param), null));
  }
});

describe('[Q3] the code', () => {
  for (const code of ['invalid_value', 'x-1.2']) test(`${code} is kept`, () => assert.equal(safeCode(code), code));
  for (const code of [null, '', 'two words', 'a[0]', 'x'.repeat(65)]) {
    test(`${JSON.stringify(code)?.slice(0, 20)} is null`, () => assert.equal(safeCode(code), null));
  }
});

describe('[Q2] a public failure event', () => {
  const error: ProviderError = { code: 'server_error', type: 'server_error', param: null, message: `Down for ${SECRET}.` };

  test('of a failed response has only the code and the message', () => {
    const data = {
      type: 'response.failed',
      sequence_number: 4,
      response: { id: 'resp_1', status: 'failed', error: { code: 'x', user: 'y' } },
    };
    assert.deepEqual(publicFailure(data, error, known), {
      type: 'response.failed',
      sequence_number: 4,
      response: { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'Down for [redacted].' } },
    });
  });

  test('of an error has the members of the SDK’s error event, and its number where it had one', () => {
    const shown = { message: 'Down for [redacted].', type: 'server_error', code: 'server_error', param: null };
    const { message, code, param } = shown;
    assert.deepEqual(publicFailure({ type: 'error', sequence_number: 2, extra: 1 }, error, known), {
      type: 'error',
      sequence_number: 2,
      code,
      message,
      param,
      error: shown,
    });
    assert.deepEqual(publicFailure({ type: 'error' }, error, known), { type: 'error', code, message, param, error: shown });
  });
});
