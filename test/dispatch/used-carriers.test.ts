// A turn makes only the carrier that it uses: an account without uploads and websockets has no connections for them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Upstream } from '../../proxy/upstream/upstreams.ts';
import { startGateway } from '../support/gateway.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

test('a JSON turn uses neither the carrier of pass-through rows nor that of websockets', async (context) => {
  await using gate = await startGateway();
  const others = (['streamCarrier', 'websocketCarrier'] as const).map((name) => context.mock.getter(Upstream.prototype, name));
  const { status } = await gate.send('/v1/responses', { body: turnBody('hi', { stream: false }) });
  assert.equal(status, 200);
  assert.deepEqual(
    others.map(({ mock }) => mock.callCount()),
    [0, 0],
  );
});
