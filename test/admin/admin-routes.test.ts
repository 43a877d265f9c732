// The /metrics route, with every counter.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COUNTERS } from '../../proxy/metrics.ts';
import { startGateway } from '../support/gateway.ts';
import { turnBody } from '../support/rehearsal-replies.ts';

test('every counter has its help, type and value', async () => {
  await using gate = await startGateway();
  const read = async (): Promise<string> => {
    const response = await fetch(`${gate.adminUrl}/metrics`);
    assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
    return response.text();
  };
  assert.match(await read(), /^poolgate_turns_total 0$/m);
  await gate.send('/backend-api/agent/responses', { body: turnBody('hello') });
  const text = await read();
  assert.match(text, /^poolgate_turns_total 1$/m);
  assert.match(text, /^poolgate_ready 1$/m);
  for (const [name, help] of Object.entries(COUNTERS)) {
    assert.ok(text.includes(`# HELP poolgate_${name}_total ${help}\n# TYPE poolgate_${name}_total counter\npoolgate_${name}_total `), name);
  }
  // Every line is a comment or a name with a number.
  for (const line of text.trimEnd().split('\n')) assert.match(line, /^(?:# (?:HELP|TYPE) [a-z_]+ .+|[a-z_]+ \d+)$/);
});
