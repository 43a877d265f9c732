// The usage of keys and Pools over nodes: every node reports the same totals, and nothing counts twice.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { TestGateway } from '../support/gateway.ts';
import { converged, type Nodes, startNodes, turn } from '../support/nodes/convergence.ts';

const SUMS = ['request_count', 'input_tokens', 'cached_input_tokens', 'output_tokens', 'total_tokens', 'total_cost_usd'] as const;

type Sums = Readonly<Record<(typeof SUMS)[number], number>>;

const sumsIn = (json: Record<string, number>): Sums => Object.fromEntries(SUMS.map((name) => [name, json[name]])) as Sums;

async function usageOf(node: TestGateway): Promise<{ readonly key: Sums; readonly pool: Sums }> {
  const { json } = await node.send('/v1/usage');
  return { key: sumsIn(json), pool: sumsIn(json.pool) };
}

suite('usage over nodes', () => {
  let nodes: Nodes;

  before(async () => {
    nodes = await startNodes(3, {
      config: (draft) => {
        draft.pools[0].models = { 'model-a': { prices: { input: 1, cached_input: 0.5, output: 10 } } };
      },
    });
  });
  after(() => nodes[Symbol.asyncDispose]());

  const agree = (requests: number): Promise<Sums> =>
    converged('equal totals', async () => {
      const all = await Promise.all(nodes.all.map(usageOf));
      const [first] = all;
      const texts = new Set(all.flatMap(({ key, pool }) => [JSON.stringify(key), JSON.stringify(pool)]));
      return texts.size === 1 && first?.key.request_count === requests ? first.key : undefined;
    });

  test('[Q34] the usage of a turn at one node reaches the others within a second', async () => {
    const { json } = await turn(nodes.all[0] as TestGateway);
    const sums = await agree(1);
    assert.deepEqual([sums.input_tokens, sums.output_tokens], [json.usage.input_tokens, json.usage.output_tokens]);
    assert.ok(sums.total_cost_usd > 0);
  });

  test('[Q34] turns at all nodes at once count once each, at any time', async () => {
    const counts: number[] = [];
    let over = false;
    const watching = (async () => {
      while (!over) counts.push((await usageOf(nodes.all[1] as TestGateway)).key.request_count);
    })();
    for (let round = 0; round < 8; round++) {
      await Promise.all(Array.from({ length: 30 }, (_, n) => turn(nodes.all[n % 3] as TestGateway)));
    }
    await agree(241);
    over = true;
    await watching;
    assert.ok(
      counts.every((count, i) => count <= 241 && count >= (counts[i - 1] ?? 0)),
      'a total neither falls nor exceeds the turns',
    );
  });

  test('[Q34] a node that starts later has all of it', async () => {
    const [one] = nodes.all as [TestGateway];
    await Promise.all(nodes.all.map((node) => node.flush()));
    const late = await one.twin();
    assert.equal((await usageOf(late)).key.request_count, 241);
    await turn(late);
    await agree(242);
    await late.stop();
  });
});
