// The order of the last checks of a turn (Q4): eligibility, the admission slot, selection; each check answers before the next one runs.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { failure } from '../../accounts/health/support.ts';
import { startGateway } from '../../support/gateway.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';

const NATIVE = '/backend-api/agent/responses';

test('[S2] authentication, policy, model, account health, admission and account selection answer in this order, and then one account is asked', async () => {
  await using gate = await startGateway({
    config: (draft) => {
      draft.admission = { stream: { running: 1, waiting: 0, wait_ms: 1000 } };
      draft.keys.push({
        id: 'narrow',
        pool: 'team',
        secret_sha256: [hash('sha256', 'narrow', 'hex')],
        models: ['model-a', 'unknown'],
        reasoning_effort: { allow_up_to: 'medium' },
      });
    },
  });
  const both = ['north', 'south'];
  const refuse = (cause: 'credential' | 'quota'): void => {
    for (const id of both) gate.fail(id, 'model-a', failure(cause, { retryAfterMs: 3_600_000 }));
  };
  // All faults exist at once: the class is full, and both accounts need a new login. After the login they are out of quota.
  gate.upstream.next('north', 'stall before headers');
  const running = gate.send(NATIVE, { body: turnBody('hi') });
  await gate.upstream.stalled('north');
  refuse('credential');

  const request = {
    headers: { authorization: 'Bearer wrong' } as Record<string, string>,
    body: { ...turnBody('hi'), model: 'model-b' } as JsonObject,
  };
  const steps: readonly (readonly [mended: string, mend: () => unknown, status: number, code: string])[] = [
    ['nothing', () => undefined, 401, 'invalid_api_key'],
    ['the key', () => (request.headers.authorization = 'Bearer narrow'), 403, 'model_not_allowed'],
    ['the denied model', () => (request.body = { ...request.body, model: 'unknown', input: 7 }), 400, 'invalid_model'],
    [
      'the unknown model',
      () => (request.body = { ...request.body, model: 'model-a', reasoning: { effort: 'high' } }),
      400,
      'invalid_request',
    ],
    ['the input', () => (request.body = { ...request.body, input: turnBody('hi').input }), 400, 'reasoning_effort_not_allowed'],
    ['the effort', () => (request.body = { ...request.body, reasoning: { effort: 'low' } }), 503, 'no_eligible_account'],
    [
      'the logins',
      () => {
        gate.heal();
        refuse('quota');
      },
      503,
      'server_is_overloaded',
    ],
    [
      'the full class',
      async () => {
        gate.upstream.release();
        await running;
      },
      429,
      'usage_limit_reached',
    ],
  ];
  for (const [mended, mend, status, code] of steps) {
    await mend();
    const reply = await gate.send(NATIVE, request);
    assert.deepEqual([reply.status, reply.json.error.code], [status, code], `with ${mended} mended`);
  }
  assert.equal(gate.upstream.turns().length, 1, 'none of them reached an account');
  gate.heal();
  assert.equal((await gate.send(NATIVE, request)).status, 200);
  assert.equal(gate.upstream.turns().length, 2);
});
