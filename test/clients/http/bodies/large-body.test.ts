// A large body is joined, parsed, read by rules and written in slices of the event loop (Q38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SlicedWork, SliceTurns } from '../../../../proxy/base/process/slices.ts';
import { LARGE } from '../../../../proxy/turn/json/large-json.ts';
import { startGateway } from '../../../support/gateway.ts';
import { userMessage } from '../../../support/native-frames.ts';
import { turnBody } from '../../../support/rehearsal-replies.ts';

test('[Q38] each step of a large turn has slices of its own, and a small turn has none', async (context) => {
  const { mock } = context.mock.method(SlicedWork.prototype, 'pause');
  await using gate = await startGateway();
  const worksOf = async (bytes: number): Promise<number> => {
    mock.resetCalls();
    const body = { ...turnBody('hello'), input: Array.from({ length: bytes / 1_000 }, () => userMessage('x'.repeat(1_000))) };
    const { status } = await gate.send('/backend-api/agent/responses', { body });
    assert.equal(status, 200);
    return new Set(mock.calls.map((call) => call.this)).size;
  };
  assert.equal(await worksOf(100_000), 0);
  assert.equal(await worksOf(LARGE.bytes), 3);
  // Its first quarter is copied after it has come.
  assert.equal(await worksOf(4 * LARGE.bytes), 4);
});

test('[Q38] a body of 512 KiB waits for two slices, to be read and to be parsed, and a smaller one for none', async (context) => {
  const { mock } = context.mock.method(SliceTurns.prototype, 'next');
  await using gate = await startGateway();
  const slicesOf = async (bytes: number): Promise<number> => {
    mock.resetCalls();
    const { status } = await gate.send('/backend-api/agent/responses', {
      body: { ...turnBody('hello'), input: [userMessage('x'.repeat(bytes))] },
    });
    assert.equal(status, 200);
    return mock.callCount();
  };
  assert.deepEqual([await slicesOf(500_000), await slicesOf(524_288)], [0, 2]);
});
