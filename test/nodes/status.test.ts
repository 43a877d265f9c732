// The nodes as operators see them at any node: /status, `poolgate status` and /metrics.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { poolgate } from '../cli/run.ts';
import { fileAt } from '../config/files.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { postgres } from '../support/postgres/postgres.ts';
import { turnBody } from '../support/rehearsal-replies.ts';
import { until } from '../support/until.ts';
import { threeNodes } from './three-nodes.ts';

interface Seen {
  readonly node: string;
  readonly state: string;
  readonly differs: boolean;
  readonly config: string;
  readonly slots: number;
}

// biome-ignore lint/suspicious/noExplicitAny: assertions look where they expect something
const sharingOf = async (gate: TestGateway): Promise<any> => ((await (await fetch(`${gate.adminUrl}/api/nodes`)).json()) as any).sharing;
const nodesAt = async (gate: TestGateway): Promise<readonly Seen[]> => (await sharingOf(gate)).nodes;

const textOf = async (context: TestContext, gate: TestGateway): Promise<string> => {
  const file = fileAt(context, gate);
  const { code, out, err } = await poolgate(['status', '--config', file]);
  assert.deepEqual([code, err], [0, '']);
  for (const line of out.split('\n')) assert.ok(line.length <= 80, `${line.length}: ${line}`);
  return out;
};

const idOf = (gate: TestGateway): string => gate.config.node.id;

test('[Q34] every node shows all nodes with their version, configuration, slots and state', async (context) => {
  await using nodes = await threeNodes();
  const [a, b, c] = nodes.all;
  assert.equal((await c.send('/backend-api/agent/responses', { body: turnBody('hi') })).status, 200);
  const seen = await until('all nodes', async () => {
    const found = await nodesAt(a);
    return found.length === 3 && found.some(({ slots, state }) => slots > 0 && state === 'alive') ? found : undefined;
  });
  assert.deepEqual(
    seen.map(({ node, state, differs }) => [node, state, differs]).sort(),
    [
      [idOf(a), 'this', false],
      [idOf(b), 'alive', false],
      [idOf(c), 'alive', false],
    ].sort(),
  );
  assert.match(seen[0]?.config ?? '', /^[0-9a-f]{12}$/);
  const { standing, store, feed, settlements_waiting, slots } = await sharingOf(a);
  assert.deepEqual([standing, store, feed, settlements_waiting], ['member', 'reachable', 'connected', 0]);
  assert.equal(slots.north, a.slots('north'));
  const text = await textOf(context, a);
  assert.match(text, /^NODE +STATE +SLOTS +LEASES +VERSION +CONFIG$/m);
  assert.match(text, new RegExp(`^${idOf(a)} +this node +\\d+ +\\d+ +\\d+\\.\\d+\\.\\d+ +[0-9a-f]{12}$`, 'm'));
  assert.match(text, new RegExp(`^${idOf(c)} +alive +[1-9]\\d* +\\d+ `, 'm'));
  assert.match(text, /^this node: store reachable, feed connected, 0 settlements wait$/m);
  const metrics = await a.metrics();
  for (const gate of nodes.all) assert.match(metrics, new RegExp(`^poolgate_node_up\\{node="${idOf(gate)}"\\} 1$`, 'm'));
  assert.match(metrics, /^poolgate_node_lease_seconds (?:[12]\d|30)(?:\.\d+)?$/m);
  assert.match(metrics, new RegExp(`^poolgate_account_slots_held\\{account="north"\\} ${a.slots('north')}$`, 'm'));
  assert.match(metrics, /^poolgate_settlements_waiting 0$/m);
  assert.match(metrics, /^poolgate_node_leases \d+$/m);
});

test('[Q34] a node whose configuration differs is shown as such, by every node that has another one', async (context) => {
  await using nodes = await threeNodes();
  const [a, b, c] = nodes.all;
  await b.reconfigure((draft) => {
    draft.pools[0].max_attempts = 2;
  });
  await until('the other digest', async () => ((await nodesAt(a)).some(({ differs }) => differs) ? true : undefined));
  assert.deepEqual(
    (await nodesAt(a)).filter(({ differs }) => differs).map(({ node }) => node),
    [idOf(b)],
  );
  await until('b to see a', async () => ((await nodesAt(b)).filter(({ differs }) => differs).length === 2 ? true : undefined));
  assert.match(await textOf(context, a), new RegExp(`^${idOf(b)} +config differs `, 'm'));
  assert.ok((await nodesAt(c)).some(({ differs }) => differs));
  const metrics = await c.metrics();
  for (const gate of nodes.all)
    assert.match(metrics, new RegExp(`^poolgate_node_config_differs\\{node="${idOf(gate)}"\\} ${gate === b ? 1 : 0}$`, 'm'));
});

test('[Q34] a different address, name or log is not reported as a different configuration', async () => {
  await using nodes = await threeNodes();
  const [a, b] = nodes.all;
  await b.reconfigure((draft) => {
    draft.log = { level: 'warn' };
  });
  await until('all nodes', async () => ((await nodesAt(a)).length === 3 ? true : undefined));
  assert.ok((await nodesAt(a)).every(({ differs }) => !differs));
});

test('[Q34] a node that left is not shown, a node that died is shown as dead', async (context) => {
  await using nodes = await threeNodes();
  const [a, b, c] = nodes.all;
  await until('all nodes', async () => ((await nodesAt(a)).length === 3 ? true : undefined));
  await b.stop();
  c.kill();
  await until('one node less', async () => ((await nodesAt(a)).length === 2 ? true : undefined));
  await (await postgres()).query(nodes.store, `UPDATE nodes SET expires_at = ${Date.now() - 1_000} WHERE id = '${idOf(c)}'`);
  await until('a dead node', async () => ((await nodesAt(a)).some(({ state }) => state === 'dead') ? true : undefined));
  assert.match(await textOf(context, a), new RegExp(`^${idOf(c)} +dead \\d+s `, 'm'));
  assert.match(await a.metrics(), new RegExp(`^poolgate_node_up\\{node="${idOf(c)}"\\} 0$`, 'm'));
});

test('with SQLite there are no other nodes to show', async (context) => {
  await using gate = await startGateway();
  assert.equal(await sharingOf(gate), null);
  assert.doesNotMatch(await textOf(context, gate), /NODE/);
  assert.doesNotMatch(await gate.metrics(), /poolgate_(?:node_up|node_config|settlements|account_slots)/);
});
