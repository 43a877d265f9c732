// The rows of a turn's attempts: a row exists as soon as its attempt begins, and is completed when the attempt ends (S5, ER4, Q33).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AttemptLog } from '../../proxy/dispatch/attempt-log.ts';
import { carrierFailure, inBandFailure, statusFailure } from '../../proxy/turn/errors/failure.ts';

const START = 1_700_000_000_000;

/** A log, and the time that it reads. */
const NORTH = { label: 'North', api: 'agent' } as const;
const SOUTH = { label: 'South', api: 'chat' } as const;

class TimedLog {
  time = START;
  readonly log = new AttemptLog('req_1', { now: () => this.time, wallTime: () => this.time });
}

test('a row exists before its attempt has ended', () => {
  const { log } = new TimedLog();
  log.begin(NORTH, 'first');
  assert.deepEqual(log.rows, [
    {
      request_id: 'req_1',
      ordinal: 0,
      at: START,
      account: 'North',
      api: 'agent',
      adapted: null,
      cause: 'first',
      status: null,
      error_class: null,
      duration_ms: 0,
      upstream_error_param: null,
    },
  ]);
});

test('rows are numbered in the order in which their attempts began, and completed in any order', () => {
  const here = new TimedLog();
  const endFirst = here.log.begin(NORTH, 'first');
  here.time += 10;
  const endSecond = here.log.begin(SOUTH, 'server');
  here.time += 5;
  endSecond({ status: 200, failure: undefined });
  here.time += 100;
  endFirst({ status: 503, failure: statusFailure(503, {}, Buffer.alloc(0), START) });
  assert.deepEqual(
    here.log.rows.map(({ ordinal, at, account, cause, status, error_class, duration_ms }) => [
      ordinal,
      at - START,
      account,
      cause,
      status,
      error_class,
      duration_ms,
    ]),
    [
      [0, 0, 'North', 'first', 503, 'upstream_status', 115],
      [1, 10, 'South', 'server', 200, null, 5],
    ],
  );
});

test('[ER4] an attempt without an answer has a class and no status', () => {
  const { log } = new TimedLog();
  log.begin(NORTH, 'first')({ status: undefined, failure: carrierFailure('connect') });
  assert.deepEqual([log.rows[0]?.status, log.rows[0]?.error_class], [null, 'upstream_connect']);
});

test('[ER4] a request that the provider refused inside a 200 has no class', () => {
  const { log } = new TimedLog();
  const failure = inBandFailure({ type: 'error', error: { code: 'invalid_prompt', param: 'input' } }, START);
  log.begin(NORTH, 'first')({ status: 200, failure });
  assert.deepEqual([log.rows[0]?.status, log.rows[0]?.error_class, log.rows[0]?.upstream_error_param], [200, null, 'input']);
});

test('[Q33] a param that is not a path is not kept', () => {
  const { log } = new TimedLog();
  const body = Buffer.from(JSON.stringify({ error: { param: 'the text of a prompt' } }));
  log.begin(NORTH, 'first')({ status: 400, failure: statusFailure(400, {}, body, START) });
  assert.equal(log.rows[0]?.upstream_error_param, null);
});
