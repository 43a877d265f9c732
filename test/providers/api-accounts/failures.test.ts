// The failures of API accounts: the class, the wait and the code of each answer, in each form in which servers state it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiFailures } from '../../../proxy/providers/api-accounts/failures/api-failures.ts';
import { chatPlace } from '../../../proxy/providers/api-accounts/failures/named-places.ts';
import type { Failure, FailureCause } from '../../../proxy/turn/errors/failure.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import type { AdaptedName } from '../../../proxy/turn/provider/adapted.ts';

const NOW = Date.UTC(2026, 10, 24);
const failures = apiFailures(chatPlace);

interface Answer {
  readonly status: number;
  /** The body; a text is not parsed as JSON. */
  readonly body?: Json;
  readonly headers?: Readonly<Record<string, string>>;
  readonly adapted?: readonly AdaptedName[];
  readonly tier?: number;
}

function failureOf({ status, body = '', headers = {}, adapted = [], tier = 0 }: Answer): Failure {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return failures.ofStatus({ status, headers, body: bytes }, { now: NOW, sent: { adapted, tier } });
}

const error = (members: JsonObject): JsonObject => ({ error: { message: 'No.', ...members } });

interface Case extends Answer {
  readonly what: string;
  readonly cause: FailureCause;
  /** The error that clients get; by default the provider's. */
  readonly as?: readonly [status: number, code: string | null];
  readonly sign?: Failure['sign'];
}

const CASES: readonly Case[] = [
  { what: 'a 400', status: 400, body: error({ code: 'invalid_value' }), cause: 'request', as: [400, 'invalid_value'] },
  { what: 'a 422', status: 422, body: error({ type: 'invalid_request_error' }), cause: 'request', as: [422, null] },
  {
    what: 'a list of details',
    status: 422,
    body: { detail: [{ type: 'missing', loc: ['body', 'messages'], msg: 'Field required' }] },
    cause: 'request',
  },
  {
    what: 'a code that is a number',
    status: 400,
    body: { object: 'error', message: 'No.', type: 'BadRequestError', code: 400 },
    cause: 'request',
    as: [400, null],
  },
  {
    what: 'an unknown code, which may be text of the request',
    status: 400,
    body: error({ code: 'the_secret_word' }),
    cause: 'request',
    as: [400, null],
  },
  { what: 'a model that is missing by code', status: 404, body: error({ code: 'model_not_found' }), cause: 'model' },
  { what: 'a model that is missing by param', status: 400, body: error({ param: 'model' }), cause: 'model' },
  { what: 'a deployment that is missing', status: 404, body: error({ code: 'DeploymentNotFound' }), cause: 'model' },
  { what: 'a model that was switched off', status: 400, body: error({ code: 'model_decommissioned' }), cause: 'model' },
  { what: 'a model that the key may not use', status: 403, body: error({ code: 'model_not_found' }), cause: 'model' },
  { what: 'another 404', status: 404, body: error({}), cause: 'model', sign: 'wrong_api' },
  { what: 'a 404 of another program', status: 404, body: '<h1>Not found</h1>', cause: 'model', sign: 'wrong_api' },
  { what: 'a 405', status: 405, cause: 'server', sign: 'wrong_api' },
  { what: 'a 415', status: 415, body: error({}), cause: 'server', sign: 'wrong_api' },
  { what: 'a 501', status: 501, cause: 'server', sign: 'wrong_api' },
  {
    what: 'a full context by code',
    status: 400,
    body: error({ code: 'context_length_exceeded' }),
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of llama.cpp',
    status: 400,
    body: { error: { code: 400, type: 'exceed_context_size_error', message: 'the request exceeds the available context size' } },
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of vLLM',
    status: 400,
    body: {
      object: 'error',
      message: "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens.",
      type: 'BadRequestError',
      code: 400,
    },
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of vLLM, counted before the request runs',
    status: 400,
    body: error({
      code: 400,
      type: 'BadRequestError',
      param: 'input_tokens',
      message:
        "You passed 10243 input tokens and requested 6142 output tokens. However, the model's context length is only 16384 tokens, " +
        'resulting in a maximum input length of 10242 tokens. Please reduce the length of the input prompt.',
    }),
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of vLLM, with its images',
    status: 400,
    body: error({ code: 400, message: 'The decoder prompt (length 9254) is longer than the maximum model length of 4096.' }),
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of xAI',
    status: 400,
    body: {
      code: 'invalid-argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    },
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of LM Studio',
    status: 400,
    body: { error: 'The number of tokens to keep from the initial prompt is greater than the context length.' },
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of LM Studio, with its size',
    status: 400,
    body: {
      error:
        'Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 ' +
        'tokens, which is not enough.',
    },
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of Gemini, whose error is in a list',
    status: 400,
    body: [
      error({
        code: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      }),
    ],
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  { what: 'an error in a list', status: 400, body: [error({ code: 400, status: 'INVALID_ARGUMENT' })], cause: 'request', as: [400, null] },
  {
    what: 'a full context of Anthropic',
    status: 400,
    body: error({ type: 'invalid_request_error', message: 'prompt is too long: 210000 tokens > 200000 maximum' }),
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of Mistral',
    status: 400,
    body: {
      object: 'error',
      message: 'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
      type: 'invalid_request_prompt',
      code: '3051',
    },
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context of OpenRouter',
    status: 400,
    body: error({ code: 400, message: "This endpoint's maximum context length is 8192 tokens. However, you requested about 9000 tokens." }),
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  {
    what: 'a full context with 413',
    status: 413,
    body: error({ code: 'context_length_exceeded' }),
    cause: 'request',
    as: [400, 'context_length_exceeded'],
  },
  { what: 'a call that the model wrote wrongly', status: 400, body: error({ code: 'tool_use_failed' }), cause: 'server' },
  { what: 'JSON that the model wrote wrongly', status: 400, body: error({ code: 'json_validate_failed' }), cause: 'server' },
  {
    what: 'a content filter',
    status: 400,
    body: error({ code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } }),
    cause: 'request',
    as: [400, 'content_filter'],
  },
  {
    what: 'moderation data',
    status: 403,
    body: error({ code: 403, metadata: { reasons: ['violence'], flagged_input: 'x' } }),
    cause: 'request',
    as: [400, 'content_filter'],
  },
  { what: 'a 401', status: 401, body: error({ code: 'invalid_api_key' }), cause: 'credential' },
  { what: 'another 403 with JSON', status: 403, body: error({}), cause: 'credential' },
  { what: 'a 403 without JSON', status: 403, body: '<html>', cause: 'server' },
  { what: 'a 402', status: 402, body: error({ code: 402 }), cause: 'quota' },
  { what: 'a spent quota', status: 429, body: error({ code: 'insufficient_quota', type: 'insufficient_quota' }), cause: 'quota' },
  { what: 'a balance that is spent, with 403', status: 403, body: error({ code: 'insufficient_balance' }), cause: 'quota' },
  { what: 'a rate', status: 429, body: error({ code: 'rate_limit_exceeded' }), cause: 'rate' },
  { what: 'a capacity that is used up', status: 498, body: error({}), cause: 'rate', as: [429, null] },
  { what: 'a redirect', status: 302, cause: 'server' },
  { what: 'a 408', status: 408, cause: 'server' },
  { what: 'a 409', status: 409, body: error({}), cause: 'server' },
  { what: 'a 425', status: 425, cause: 'server' },
  { what: 'a 500', status: 500, cause: 'server' },
  { what: 'a 529', status: 529, body: error({ type: 'overloaded_error' }), cause: 'server' },
  { what: 'a 4xx without JSON', status: 400, body: 'Bad Request', cause: 'server' },
  { what: 'a 413', status: 413, body: error({}), cause: 'request', as: [413, 'request_too_large'] },
  { what: 'any other 4xx with JSON', status: 418, body: error({}), cause: 'request', as: [400, null] },
  { what: 'a member that the gateway wrote alone', status: 400, body: error({ param: 'stream_options' }), cause: 'model', sign: 'adapted' },
  {
    what: 'a member that the gateway changed',
    status: 400,
    body: error({ param: 'reasoning_effort' }),
    adapted: ['reasoning.effort'],
    cause: 'model',
    sign: 'adapted',
  },
  {
    what: 'a member that it left alone',
    status: 400,
    body: error({ param: 'reasoning_effort' }),
    adapted: ['text.format'],
    cause: 'request',
  },
  {
    what: 'an error that is a text',
    status: 404,
    body: { error: "model 'x' not found, try pulling it first" },
    cause: 'model',
    sign: 'wrong_api',
  },
  { what: 'a status that is none', status: 700, cause: 'malformed' },
];

for (const { what, cause, as, sign, ...answer } of CASES) {
  test(`[AA61] ${what} is a failure of the class ${cause}`, () => {
    const failure = failureOf(answer);
    assert.deepEqual([failure.cause, failure.sign], [cause, sign]);
    if (as) assert.deepEqual([failure.status, failure.error.code], as);
  });
}

test('[AA61] a full context in a higher tier is a failure of the model there', () => {
  const { cause, error: stated } = failureOf({ status: 400, body: error({ code: 'context_length_exceeded' }), tier: 1 });
  assert.deepEqual([cause, stated.code], ['model', 'context_length_exceeded']);
});

test('[AA61] a server that loads a model pauses that model for 5 s', () => {
  const { cause, retryAfterMs, pauses } = failureOf({ status: 503, body: error({ message: 'Loading model' }) });
  assert.deepEqual([cause, retryAfterMs, pauses], ['server', 5_000, true]);
});

test('[AA61] a quota without a stated end waits for 15 minutes, doubling to 6 hours', () => {
  assert.deepEqual(failureOf({ status: 402 }).backoff, { firstMs: 900_000, longestMs: 21_600_000 });
});

const DATE = 'Tue, 24 Nov 2026 00:00:30 GMT';

for (const { what, headers, status = 429, ms } of [
  { what: 'seconds', headers: { 'retry-after': '7' }, ms: 7_000 },
  { what: 'seconds with decimals', headers: { 'retry-after': '2.5' }, ms: 2_500 },
  { what: 'a date', headers: { 'retry-after': DATE }, ms: 30_000 },
  { what: 'a date that is past', headers: { 'retry-after': 'Mon, 23 Nov 2026 00:00:00 GMT' }, ms: undefined },
  { what: 'milliseconds', headers: { 'retry-after-ms': '1234' }, ms: 1_234 },
  { what: 'more than 30 days', headers: { 'retry-after': String(31 * 86_400) }, status: 402, ms: undefined },
  { what: 'an hour for a rate, which is 300 s at most', headers: { 'retry-after': '3600' }, ms: 300_000 },
  { what: 'an hour for a quota', headers: { 'retry-after': '3600' }, status: 402, ms: 3_600_000 },
]) {
  test(`[AA62] Retry-After as ${what}`, () => assert.equal(failureOf({ status, headers }).retryAfterMs, ms));
}

test('[AA63] a foreign body goes to no client, and its message has at most 500 characters', () => {
  const failure = failureOf({ status: 400, body: error({ message: 'x'.repeat(10_000) }) });
  assert.deepEqual([failure.answer, failure.error.message?.length], [undefined, 500]);
});

for (const [param, place] of [
  ['messages', 'input'],
  ['messages[3].content', 'input'],
  ['max_tokens', 'max_output_tokens'],
  ['max_completion_tokens', 'max_output_tokens'],
  ['response_format.json_schema', 'text.format'],
  ['reasoning_effort', 'reasoning.effort'],
  ['tools[2].function.parameters', 'tools.2.parameters'],
  ['tools.2.function.name', 'tools.2.name'],
  ['stream_options', null],
  ['n', null],
] as const) {
  test(`[AA64] ${param} is ${place ?? 'no place of the client'}`, () => assert.equal(chatPlace(param, undefined), place));
}

test('[AA64] a tool has its own place no longer where tools were lowered', () => {
  assert.equal(chatPlace('tools[2].function.parameters', { adapted: ['tools.custom'], tier: 0 }), null);
});

for (const { what, data, expected } of [
  { what: 'a numeric code', data: { error: { code: 429, message: 'slow' } }, expected: ['rate', 429] },
  { what: 'a status beside it', data: { error: { message: 'x' }, status: 503 }, expected: ['server', 503] },
  { what: 'a code as text', data: { error: { code: '401', message: 'x' } }, expected: ['credential', 401] },
  { what: 'neither', data: { error: { message: 'x' } }, expected: ['server', 200] },
  { what: 'the code of a rate', data: { error: { code: 'rate_limit_exceeded' } }, expected: ['rate', 200] },
  { what: 'the code of a quota', data: { object: 'error', code: 'insufficient_quota', message: 'x' }, expected: ['quota', 200] },
  {
    what: 'the words of a full context',
    data: { error: { message: 'The model is loaded with context length of only 4096 tokens, which is not enough.' } },
    expected: ['request', 200],
  },
  { what: 'the code of a full context', data: { error: { code: 'context_length_exceeded' } }, expected: ['request', 200] },
] as const) {
  test(`[AA59] an error inside a reply with ${what} is classified by it`, () => {
    const failure = failures.inBand(data, NOW);
    assert.deepEqual([failure.cause, failure.status], expected);
  });
}
