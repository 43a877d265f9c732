// The rows of a turn's attempts: a row exists as soon as its attempt begins, and is completed when the attempt ends (S5, ER4, Q33).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complete, openRow } from '../../proxy/dispatch/leased-attempt.ts';
import type { OpenRow } from '../../proxy/dispatch/retries/turn-progress.ts';
import { carrierFailure, type Failure, inBandFailure, statusFailure } from '../../proxy/turn/errors/failure.ts';

const START = 1_700_000_000_000;

const NORTH = { label: 'North', api: 'agent' } as const;
const SOUTH = { label: 'South', api: 'chat' } as const;

/** The rows of a turn, and the time that it reads. */
class TimedTurn {
  time = START;
  readonly rows: OpenRow[] = [];
  readonly turn = { id: 'req_1', wallTime: () => this.time };
}

/** The row of an attempt that ended. */
function rowOf(status: number | undefined, failure: Failure): OpenRow {
  const row = openRow(new TimedTurn(), NORTH, 'first');
  complete(row, { status, failure, ms: 0 });
  return row;
}

test('a row exists before its attempt has ended', () => {
  const timed = new TimedTurn();
  openRow(timed, NORTH, 'first');
  assert.deepEqual(timed.rows, [
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
  const timed = new TimedTurn();
  const first = openRow(timed, NORTH, 'first');
  timed.time += 10;
  const second = openRow(timed, SOUTH, 'server');
  complete(second, { status: 200, failure: undefined, ms: 5 });
  complete(first, { status: 503, failure: statusFailure(503, {}, Buffer.alloc(0), START), ms: 115 });
  assert.deepEqual(
    timed.rows.map(({ ordinal, at, account, cause, status, error_class, duration_ms }) => [
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
  const { status, error_class } = rowOf(undefined, carrierFailure('connect'));
  assert.deepEqual([status, error_class], [null, 'upstream_connect']);
});

test('[ER4] a request that the provider refused inside a 200 has no class', () => {
  const failure = inBandFailure({ type: 'error', error: { code: 'invalid_prompt', param: 'input' } }, START);
  const { status, error_class, upstream_error_param } = rowOf(200, failure);
  assert.deepEqual([status, error_class, upstream_error_param], [200, null, 'input']);
});

test('[Q33] a param that is not a path is not kept', () => {
  const body = Buffer.from(JSON.stringify({ error: { param: 'the text of a prompt' } }));
  assert.equal(rowOf(400, statusFailure(400, {}, body, START)).upstream_error_param, null);
});
