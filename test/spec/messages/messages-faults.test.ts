// Each fault of the simulated provider on the Messages surface, streamed and not: what a client gets if there is one account (AM13, AM16,
// AM51, AM58).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { FAULT_READERS } from '../../../proxy/rehearsal/faults/fault-readers.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { byTurns } from '../../support/sample.ts';
import { MESSAGES, messagesBody } from './messages-body.ts';

const SAID = 'one two three four five six seven eight';
const ASK = messagesBody({ messages: [{ role: 'user', content: `say: ${SAID}` }], thinking: { type: 'adaptive' } });

/** The result for a client: the complete answer, a status with the type of its error, or a stream that ends with this error event. */
type Outcome = 'answer' | readonly [status: number, type: string] | { readonly event: string };

interface Case {
  readonly script: string;
  readonly whole: Outcome;
  /** The outcome of the stream, if it differs from that of the answer. */
  readonly stream?: Outcome;
}

const FAILED = [502, 'api_error'] as const;
const BROKEN = { event: 'api_error' } as const;

const REFUSALS: readonly Case[] = [
  { script: 'refuse 400 invalid_prompt', whole: [400, 'invalid_request_error'] },
  { script: 'refuse 401', whole: FAILED },
  { script: 'refuse 402', whole: FAILED },
  { script: 'refuse 403', whole: FAILED },
  { script: 'refuse 404 not_found', whole: [404, 'invalid_request_error'] },
  { script: 'refuse 413', whole: [413, 'invalid_request_error'] },
  { script: 'refuse 422', whole: [422, 'invalid_request_error'] },
  { script: 'refuse 429 rate_limit_exceeded retry 7', whole: [429, 'rate_limit_error'] },
  { script: 'refuse 500', whole: FAILED },
  { script: 'refuse 503', whole: [529, 'overloaded_error'] },
  { script: 'refuse 400 context_length_exceeded', whole: [400, 'invalid_request_error'] },
  { script: 'refuse inside', whole: [529, 'overloaded_error'] },
  { script: 'refuse inside rate_limit_exceeded as error', whole: [429, 'rate_limit_error'] },
  { script: 'refuse inside invalid_prompt', whole: [400, 'invalid_request_error'] },
  { script: 'refuse inside context_length_exceeded', whole: [400, 'invalid_request_error'] },
  { script: 'refuse inside server_error as failed after 0 events', whole: FAILED },
  { script: 'refuse inside server_is_overloaded after 9 events', whole: [529, 'overloaded_error'], stream: { event: 'overloaded_error' } },
  { script: 'refuse inside rate_limit_exceeded after 9 events', whole: [429, 'rate_limit_error'], stream: { event: 'rate_limit_error' } },
  {
    script: 'refuse inside invalid_prompt after 9 events',
    whole: [400, 'invalid_request_error'],
    stream: { event: 'invalid_request_error' },
  },
  {
    script: 'refuse inside context_length_exceeded after 9 events',
    whole: [400, 'invalid_request_error'],
    stream: { event: 'invalid_request_error' },
  },
  { script: 'refuse inside server_error after 9 events', whole: FAILED, stream: BROKEN },
];

const BREAKS: readonly Case[] = [
  ...(['cut', 'reset'] as const).flatMap((how): readonly Case[] => [
    { script: `${how} before headers`, whole: FAILED },
    { script: `${how} after headers`, whole: FAILED },
    { script: `${how} after 2 events`, whole: FAILED },
    { script: `${how} after 9 events`, whole: FAILED, stream: BROKEN },
    { script: `${how} after 9 bytes`, whole: FAILED },
    { script: `${how} after 4000 bytes`, whole: FAILED, stream: BROKEN },
  ]),
  { script: 'html', whole: FAILED },
  { script: 'loading', whole: FAILED },
  { script: 'no terminal', whole: FAILED, stream: BROKEN },
  { script: 'malformed event 24', whole: FAILED, stream: BROKEN },
  { script: 'malformed event 24 as array', whole: FAILED, stream: BROKEN },
];

/**
 * Faults that change nothing for a client: an unreadable event shows nothing (Q6), and these events have no text. Faults of websockets and
 * upgrades have no effect, because Messages turns use HTTP.
 */
const HARMLESS = [
  'steady',
  'empty output',
  'malformed event 1',
  'malformed event 1 as array',
  'malformed event 2',
  'malformed event 2 as array',
  'malformed event 3',
  'malformed event 3 as array',
  'malformed event 4',
  'malformed event 4 as array',
  'malformed event 5',
  'malformed event 5 as array',
  'malformed event 6',
  'malformed event 6 as array',
  'malformed event 7',
  'malformed event 7 as array',
  'malformed event 8',
  'malformed event 8 as array',
  'malformed event 9',
  'malformed event 9 as array',
  'malformed event 10',
  'malformed event 10 as array',
  'malformed event 11',
  'malformed event 11 as array',
  'malformed event 12',
  'malformed event 12 as array',
  'malformed event 21',
  'malformed event 21 as array',
  'malformed event 22',
  'malformed event 22 as array',
  'malformed event 23',
  'malformed event 23 as array',
  'cr framing',
  'crlf framing',
  'drip',
  'drip 7 bytes',
  'drip 40 bytes every 1 ms',
  'pace 2 ms',
  'stall before headers for 20 ms',
  'stall after 9 events for 20 ms',
  'no preamble',
  'compaction missing',
  'close 1011',
  'half open',
  'connection limit',
  'interrupt failed',
  'steer failed',
  'status code',
  'anchor lost',
  'frame too large',
  'binary frame',
  'error chunk',
  'finish stop',
  'reasoning as thinking',
  'rate requests 5 of 10',
  'slow first byte 5 ms',
  'without response.output_text.done',
  'refuse upgrade 426',
  'stall upgrade',
  'reset upgrade',
];

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
type Data = any;

const textIn = (blocks: readonly Data[]): string => blocks.map(({ text = '' }) => text).join('');

function checkError(error: Data, type: string): void {
  assert.deepEqual([error.type, error.error.type], ['error', type], JSON.stringify(error));
  assert.equal(typeof error.error.details.error_code, 'string');
  assert.match(error.request_id, /^req_/);
  assert.doesNotMatch(JSON.stringify(error), /north|one two/i);
}

/** Checks that blocks follow each other, and that the stream ends either with its last event or with one error. */
function checkStream(events: readonly Data[], outcome: Outcome): void {
  const types: readonly string[] = events.map(({ type }) => type);
  assert.deepEqual(types.slice(0, 2), ['message_start', 'ping']);
  assert.equal(types.filter((type) => type === 'message_start').length, 1);
  let open: number | undefined;
  let blocks = 0;
  for (const { type, index } of events) {
    if (type === 'content_block_start') {
      assert.deepEqual([open, index], [undefined, blocks++]);
      open = index;
    } else if (type === 'content_block_delta') assert.equal(index, open);
    else if (type === 'content_block_stop') {
      assert.equal(index, open);
      open = undefined;
    }
  }
  if (outcome === 'answer') {
    assert.deepEqual([types.slice(-2), open], [['message_delta', 'message_stop'], undefined]);
    assert.equal(textIn(events.map(({ delta = {} }) => delta)), SAID);
    assert.ok(!types.includes('error'));
    return;
  }
  assert.equal(types.filter((type) => type === 'error').length, 1);
  assert.ok(!types.includes('message_delta') && !types.includes('message_stop'), types.join());
  checkError(events.at(-1), (outcome as { readonly event: string }).event);
}

function check({ status, headers, json, text }: Reply, outcome: Outcome, isStream: boolean): void {
  if (Array.isArray(outcome)) {
    assert.equal(status, outcome[0], text);
    assert.equal(headers.get('request-id'), json.request_id);
    checkError(json, outcome[1]);
    return;
  }
  assert.equal(status, 200, text);
  if (isStream)
    checkStream(
      eventsOf(text).map(({ data }) => data),
      outcome,
    );
  else assert.deepEqual([textIn(json.content), json.stop_reason], [SAID, 'end_turn']);
}

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'] } });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const OUTCOMES: readonly Case[] = [...REFUSALS, ...BREAKS, ...HARMLESS.map((script): Case => ({ script, whole: 'answer' }))];
const nextForms = byTurns([false, true]);

describe('[AM13] [AM16] [AM51] [AM58] each fault of an account', () => {
  for (const { script, whole, stream = whole } of OUTCOMES) {
    for (const isStream of whole === 'answer' ? nextForms() : [false, true]) {
      test(`${script}, ${isStream ? 'streamed' : 'whole'}`, async () => {
        gate.upstream.next('north', script, script, script, script);
        check(await gate.send(MESSAGES, { body: { ...ASK, stream: isStream } }), isStream ? stream : whole, isStream);
      });
    }
  }

  test('each word of the language is among them', () => {
    const tried = new Set([...OUTCOMES, ...ALONE].map(({ script }) => script.split(' ')[0]));
    assert.deepEqual(
      Object.keys(FAULT_READERS).filter((word) => !tried.has(word)),
      [],
    );
  });
});

/**
 * Each of these cases has its own gateway with short timeouts, because an exhausted quota lasts, and the other cases must not run out of
 * time.
 */
const ALONE: readonly Case[] = [
  { script: 'refuse 429 usage_limit_reached resets 3600', whole: [429, 'rate_limit_error'] },
  { script: 'refuse inside usage_limit_reached', whole: [429, 'rate_limit_error'] },
  { script: 'stall before headers', whole: [504, 'timeout_error'] },
  { script: 'stall after headers', whole: FAILED },
  { script: 'stall after 9 events', whole: FAILED, stream: BROKEN },
];

describe('[AM13] [AM16] an account that stalls, or is out of quota', { concurrency: 2 * ALONE.length }, () => {
  for (const { script, whole, stream = whole } of ALONE) {
    for (const isStream of [false, true]) {
      test(`${script}, ${isStream ? 'streamed' : 'whole'}`, async () => {
        await using own = await startGateway({
          upstream: { accounts: ['north'] },
          config: (draft) => {
            draft.timeouts = { upstream_first_byte_ms: 2_000, upstream_idle_ms: 2_000 };
          },
        });
        own.upstream.next('north', script, script, script, script);
        check(await own.send(MESSAGES, { body: { ...ASK, stream: isStream } }), isStream ? stream : whole, isStream);
      });
    }
  }
});
