// The answer to the client if no account gave one: it follows the last failure, unless every account was out of quota (Q2, Q3, ER4, F2.13).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { clientError, collectedError } from '../../proxy/dispatch/client-error.ts';
import { carrierFailure, type Failure, inBandFailure, statusFailure, unsentFailure } from '../../proxy/turn/errors/failure.ts';
import { Refusal } from '../../proxy/turn/errors/refusal.ts';
import type { Confidential } from '../../proxy/turn/errors/sanitise.ts';
import type { LiveTurn } from '../../proxy/turn/live-turn.ts';
import type { RouteKind } from '../../proxy/turn/routes/kinds.ts';
import { rule } from '../../proxy/turn/rules/rule.ts';
import { ManualClock } from '../support/clocks/manual-clock.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { type LiveTurnOptions, liveTurnOf, requestedTurn } from '../support/turns/live-turn.ts';

const clock = new ManualClock();
const SECONDS = clock.now() / 1000;
const known: Confidential = { secrets: () => [], prompt: () => '' };

const refused = (status: number, code: string, more: Readonly<Record<string, number>> = {}): Failure =>
  statusFailure(
    status,
    { 'content-type': 'application/json' },
    Buffer.from(JSON.stringify({ error: { code, message: 'No.', ...more } })),
    clock.now(),
  );

const inside = (code: string): Failure => inBandFailure({ type: 'error', error: { code, message: 'No.' } }, clock.now());

const quota = (resetsAt?: number): Failure => refused(429, 'usage_limit_reached', resetsAt === undefined ? {} : { resets_at: resetsAt });

const turnOf = (options: LiveTurnOptions = {}): LiveTurn => liveTurnOf({ clock, rules: [], ...options }).turn;

/** Returns `[who, status, code]`. */
function answerOf(failures: readonly Failure[], turn: LiveTurn = turnOf()): readonly unknown[] {
  const answer = clientError(failures, turn, known);
  return answer instanceof Refusal ? ['ours', answer.status, answer.error.code] : ['provider', answer.status, answer.code];
}

describe('the last failure decides', () => {
  const CASES: readonly (readonly [what: string, failures: readonly Failure[], native: readonly unknown[], shown: readonly unknown[]])[] = [
    ['no byte in time', [carrierFailure('first_byte')], ['ours', 504, 'upstream_timeout'], ['ours', 504, 'upstream_timeout']],
    ['no connection in time', [carrierFailure('connect_timeout')], ['ours', 504, 'upstream_timeout'], ['ours', 504, 'upstream_timeout']],
    ['no connection', [carrierFailure('connect')], ['ours', 502, 'upstream_error'], ['ours', 502, 'upstream_error']],
    ['a dead connection', [carrierFailure('network')], ['ours', 502, 'upstream_error'], ['ours', 502, 'upstream_error']],
    ['no HTTP', [carrierFailure('malformed')], ['ours', 502, 'upstream_error'], ['ours', 502, 'upstream_error']],
    ['a refused credential', [refused(401, 'invalid_api_key')], ['ours', 502, 'upstream_error'], ['ours', 502, 'upstream_error']],
    ['a credential that was not issued', [unsentFailure('refused')], ['ours', 502, 'upstream_error'], ['ours', 502, 'upstream_error']],
    ['a bad request', [refused(400, 'invalid_value')], ['provider', 400, 'invalid_value'], ['ours', 400, 'invalid_value']],
    ['a failed server', [refused(503, 'server_error')], ['provider', 503, 'server_error'], ['ours', 502, 'upstream_error']],
    ['a bad request inside a 200', [inside('invalid_prompt')], ['ours', 400, 'invalid_prompt'], ['ours', 400, 'invalid_prompt']],
    [
      'a failure after another',
      [refused(503, 'server_error'), carrierFailure('first_byte')],
      ['ours', 504, 'upstream_timeout'],
      ['ours', 504, 'upstream_timeout'],
    ],
    [
      'a failure after a quota refusal',
      [quota(), refused(503, 'server_error')],
      ['provider', 503, 'server_error'],
      ['ours', 502, 'upstream_error'],
    ],
    [
      'a quota refusal after another failure',
      [refused(503, 'server_error'), quota()],
      ['provider', 429, 'usage_limit_reached'],
      ['ours', 429, 'rate_limit_exceeded'],
    ],
  ];
  for (const [what, failures, native, shown] of CASES) {
    test(`${what}: native ${native.join(' ')}, public ${shown.join(' ')}`, () => {
      assert.deepEqual(answerOf(failures), native);
      assert.deepEqual(answerOf(failures, turnOf({ kind: 'public-responses' })), shown);
    });
  }
});

describe('[Q8] where every account was out of quota', () => {
  for (const kind of ['responses', 'public-responses', 'forward'] satisfies RouteKind[]) {
    test(`a ${kind} turn gets usage_limit_reached with the soonest reset`, () => {
      const answer = clientError([quota(SECONDS + 7_200), quota(), quota(SECONDS + 3_600)], turnOf({ kind }), known);
      assert.ok(answer instanceof Refusal);
      assert.deepEqual([answer.status, answer.error.code, answer.error.resets_at], [429, 'usage_limit_reached', SECONDS + 3_600]);
      assert.equal(answer.headers['x-should-retry'], 'false');
    });
  }

  test('and none stated a reset, the answer states none', () => {
    const answer = clientError([quota(), inside('usage_limit_reached')], turnOf(), known);
    assert.ok(answer instanceof Refusal);
    assert.deepEqual([answer.error.code, 'resets_at' in answer.error], ['usage_limit_reached', false]);
  });
});

describe('[ER4] the rules of the route', () => {
  const explicitFull = { mode: { configured: 'full', effective: 'full', source: 'override' } } as const;

  test('[F2.13] replace a refusal by status under explicit Full, and note its class', async () => {
    const { turn } = await requestedTurn(turnBody('hi'), { clock, model: explicitFull });
    assert.deepEqual(answerOf([refused(418, 'invalid_value')], turn), ['ours', 400, 'full_upstream_rejection']);
    assert.equal(turn.noted.error_class, 'full_upstream_rejection');
  });

  test('[F2.13] leave a refusal inside a 200 to its code', async () => {
    const { turn } = await requestedTurn(turnBody('hi'), { clock, model: explicitFull });
    assert.deepEqual(answerOf([inside('invalid_prompt')], turn), ['ours', 400, 'invalid_prompt']);
    assert.equal(turn.noted.error_class, undefined);
  });

  test('note the class also where the answer is the quota of all accounts', async () => {
    const { turn } = await requestedTurn(turnBody('hi'), { clock, model: explicitFull });
    assert.deepEqual(answerOf([quota()], turn), ['ours', 429, 'usage_limit_reached']);
    assert.equal(turn.noted.error_class, 'upstream_rate_limited');
  });

  test('edit the head of the provider’s own answer, and of no other', () => {
    const heads: number[] = [];
    const marking = rule({
      name: 'marking',
      routes: ['responses'],
      head: (head) => {
        heads.push(head.status);
        head.headers['x-agent-marked'] = 'yes';
        return undefined;
      },
    });
    const turn = turnOf({ rules: [marking] });
    const answer = clientError([refused(400, 'invalid_value')], turn, known);
    assert.equal(answer.headers['x-agent-marked'], 'yes');
    answerOf([carrierFailure('network')], turn);
    answerOf([quota()], turn);
    assert.deepEqual(heads, [400]);
  });
});

describe('[Q15] a failure inside a collected reply', () => {
  for (const [what, failure, status, code] of [
    ['that blames the request', inside('invalid_prompt'), 400, 'invalid_prompt'],
    ['of the server', inside('server_error'), 502, 'upstream_error'],
    ['of a dead connection', carrierFailure('network'), 502, 'upstream_error'],
    ['of quota', inside('usage_limit_reached'), 429, 'usage_limit_reached'],
  ] as const) {
    test(`${what} is answered with ${status} ${code}`, () => {
      const refusal = collectedError(failure, turnOf({ kind: 'public-responses' }), known);
      assert.deepEqual([refusal.status, refusal.error.code], [status, code]);
    });
  }
});
