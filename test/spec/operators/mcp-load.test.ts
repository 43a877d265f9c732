// An operator sees the running and waiting turns only of its own Pools, even at accounts that other Pools use.
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { startGateway } from '../../support/gateway.ts';
import { call, operatorRow } from '../../support/mcp.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';

const NATIVE = '/backend-api/agent/responses';
const OTHER = 'pg-key-of-the-other-pool';

test('[G3] in_flight and admission count no Pool outside the view', async () => {
  await using gate = await startGateway({
    upstream: { accounts: ['north'] },
    config: (draft) => {
      draft.admission = { stream: { running: 3, waiting: 10, wait_ms: 30_000 } };
      draft.pools.push({ id: 'other', label: 'Other', assignments: [{ account: 'north' }] });
      draft.keys.push({ id: 'guest', pool: 'other', secret_sha256: [hash('sha256', OTHER, 'hex')] });
      draft.operators = ['team', 'other'].map((id) => operatorRow(id, [id]));
    },
  });
  for (let i = 0; i < 5; i++) gate.upstream.next('north', 'stall before headers');
  const leave = new AbortController();
  const send = (headers: Record<string, string> = {}) =>
    void gate.send(NATIVE, { body: turnBody('hi'), headers, signal: leave.signal }).catch(() => undefined);
  send();
  await until('the first turn', () => gate.upstream.turns().length === 1 || undefined);
  for (let i = 0; i < 4; i++) send({ authorization: `Bearer ${OTHER}` });
  await until('the waiting turns', () => gate.admission('stream').waiting === 2 || undefined);
  for (const [id, running, waiting] of [
    ['team', 1, 0],
    ['other', 2, 2],
  ] as const) {
    const ask = (tool: string) => call(gate, tool, {}, id);
    const status = await ask('service_status');
    assert.equal(status.in_flight, running);
    const stream = status.admission.find((row: { class: string }) => row.class === 'stream');
    assert.deepEqual([stream.running, stream.waiting, stream.max_running], [running, waiting, 3]);
    assert.equal((await ask('list_accounts')).accounts[0].in_flight, running);
  }
  leave.abort();
});
