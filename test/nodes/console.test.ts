// What the console of one node shows of the others: turns, cooldowns and audit at once or within seconds, and what each node has for
// itself.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { eventsFrom } from '../console/events.ts';
import type { TestGateway } from '../support/gateway.ts';
import { type Nodes, startNodes, turn } from '../support/nodes/convergence.ts';

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
const asked = async (gate: TestGateway, path: string): Promise<any> => (await fetch(gate.adminUrl + path)).json();

suite('a console at one of several nodes', () => {
  let nodes: Nodes;
  let here: TestGateway;
  let there: TestGateway;

  before(async () => {
    nodes = await startNodes(2);
    [here, there] = nodes.all as [TestGateway, TestGateway];
  });
  after(() => nodes[Symbol.asyncDispose]());

  test('its feed names the turns and the cooldown of another node, and its pages have them', async () => {
    const events = eventsFrom(here);
    assert.deepEqual((await events.next()).value?.topics, [], 'nothing has changed since the page was opened');
    there.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
    await turn(there);
    await there.flush();
    const missing = new Set(['accounts', 'requests']);
    for await (const { topics } of events) {
      for (const topic of topics) missing.delete(topic);
      if (missing.size === 0) break;
    }
    const { rows } = await asked(here, '/api/requests');
    assert.deepEqual([rows.length, rows[0]?.account, rows[0]?.retries], [1, 'SOUTH', 1]);
    const { turn: row, attempts } = await asked(here, `/api/requests/${rows[0]?.id}`);
    assert.deepEqual([row.id, attempts.length], [rows[0]?.id, 2]);
    const { total } = await asked(here, '/api/usage?since=1h');
    assert.equal(total.request_count, 1);
    const { accounts } = await asked(here, '/api/accounts?id=north');
    assert.deepEqual(
      accounts[0]?.models_in_cooldown.map(({ model, cause }: { model: string; cause: string }) => [model, cause]),
      [['model-a', 'rate']],
    );
  });

  test('running turns, admission and the last failure are of the node that is asked', async () => {
    there.upstream.clear();
    there.upstream.next('south', 'stall after 2 events');
    const running = turn(there);
    await there.upstream.stalled('south');
    const inFlight = async (gate: TestGateway) => (await asked(gate, '/api/overview')).in_flight;
    assert.deepEqual([await inFlight(here), await inFlight(there)], [0, 1]);
    there.upstream.release('south');
    await running;
  });

  test('a pause in the file of another node is in the audit here, with its node, and holds there alone', async () => {
    await there.reconfigure((draft) => {
      draft.accounts[1].paused = true;
    });
    await there.leave({
      audit: [{ at: Date.now(), actor: `file@${there.config.node.id}`, action: 'account.change', target: 'south', pool: null, fields: [] }],
    });
    const { audit } = await asked(here, '/api/audit?target=south');
    assert.deepEqual(
      audit.map(({ actor }: { actor: string }) => actor),
      [`file@${there.config.node.id}`],
    );
    const stateAt = async (gate: TestGateway) => (await asked(gate, '/api/accounts?id=south')).accounts[0].state;
    assert.deepEqual([await stateAt(here), await stateAt(there)], ['available', 'paused']);
  });
});
