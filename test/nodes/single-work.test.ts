// Work that one node at a time does: reads of catalogs and of usage, and probes. The provider counts the requests.
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { ShiftedClock } from '../support/clocks/shifted-clock.ts';
import type { TestGateway } from '../support/gateway.ts';
import { converged, type Nodes, startNodes, turn, went } from '../support/nodes/convergence.ts';
import { modelEntry } from '../support/rehearsal-replies.ts';
import { user } from '../support/stages/continuity.ts';
import { BACKEND_MODELS, backendModels, catalogAnswer, PUBLIC_MODELS } from '../support/stages/model-lists.ts';
import { until } from '../support/until.ts';

const USAGE = '/backend-api/meter/usage';

suite('work of one node at a time', () => {
  let nodes: Nodes;
  let clock: ShiftedClock;
  let one: TestGateway;
  let other: TestGateway;

  before(async () => {
    clock = new ShiftedClock();
    nodes = await startNodes(3, { clock });
    [one, other] = nodes.all as [TestGateway, TestGateway];
  });
  after(() => nodes[Symbol.asyncDispose]());

  const reads = (path: string): readonly string[] =>
    one.upstream
      .requests()
      .filter((request) => request.path === path)
      .map(({ account }) => account)
      .sort();

  test('[Q34] three nodes that start together read each catalog and each usage once', async () => {
    assert.deepEqual(
      [reads(BACKEND_MODELS), reads(USAGE)],
      [
        ['north', 'south'],
        ['north', 'south'],
      ],
    );
    const lists = await Promise.all(nodes.all.map((node) => node.send(BACKEND_MODELS)));
    assert.equal(new Set(lists.map(({ text }) => text)).size, 1);
    for (const node of nodes.all) {
      assert.ok((await backendModels(node)).has('model-a'));
      assert.equal(node.quota('north').status, 'available');
    }
  });

  test('[Q34] one node probes an account that failed, and the others wait for its result', async () => {
    await one.upstream.hangUp('north');
    await turn(one);
    await one.upstream.pickUp('north');
    await converged('the cooldown', () => nodes.all.every((node) => node.account('north').cooldown?.phase === 'cooling') || undefined);
    one.upstream.clear();
    clock.setAhead(11_000);
    one.upstream.always('north', 'stall before headers');
    const turns = Array.from({ length: 30 }, (_, n) => turn(nodes.all[n % 3] as TestGateway));
    await one.upstream.stalled('north');
    await until('the other turns', () => one.upstream.turns('south').length === 29 || undefined);
    assert.equal(one.upstream.turns('north').length, 1);
    one.upstream.always('north', 'steady');
    one.upstream.release();
    await Promise.all(turns);
    await converged('the result', () => nodes.all.every((node) => node.account('north').status === 'active') || undefined);
    one.upstream.clear();
    for (const node of nodes.all) await turn(node);
    assert.deepEqual(went(one), ['north', 'north', 'north']);
    assert.equal(
      nodes.all.reduce((sum, node) => sum + node.count('probes'), 0),
      1,
    );
  });

  test('[Q34] a probe that fails keeps the account away from every node', async () => {
    await one.upstream.hangUp('north');
    await turn(one);
    await converged('the cooldown', () => nodes.all.every((node) => node.account('north').cooldown?.phase === 'cooling') || undefined);
    clock.setAhead(11_000);
    await Promise.all(nodes.all.map((node) => turn(node)));
    await converged(
      'the second cooldown',
      () => nodes.all.every((node) => node.account('north').cooldown?.phase === 'cooling') || undefined,
    );
    assert.equal(
      nodes.all.reduce((sum, node) => sum + node.count('probes'), 0),
      2,
    );
    await one.upstream.pickUp('north');
  });

  test('[Q34] a catalog that one node reads reaches the lists and the ETags of the others', async () => {
    const etags = async (): Promise<ReadonlySet<string | null>> =>
      new Set((await Promise.all(nodes.all.map((node) => node.send(BACKEND_MODELS)))).map(({ headers }) => headers.get('etag')));
    for (const node of nodes.all) node.heal();
    const before = await etags();
    assert.equal(before.size, 1);
    one.upstream.clear();
    for (const account of ['north', 'south']) {
      one.upstream.nextOn(account, BACKEND_MODELS, catalogAnswer({ models: [modelEntry({ slug: 'model-b' })] }));
    }
    await one.reconfigure(() => undefined);
    assert.deepEqual(reads(BACKEND_MODELS), ['north', 'south']);
    await converged('the new list', async () => {
      const now = await etags();
      return (now.size === 1 && ![...before].some((etag) => now.has(etag))) || undefined;
    });
    for (const node of nodes.all) {
      const { json } = await node.send(PUBLIC_MODELS);
      assert.deepEqual(
        json.data.map(({ id }: { id: string }) => id),
        ['model-b'],
      );
    }
    const [etag] = await etags();
    assert.equal((await other.send(BACKEND_MODELS, { headers: { 'if-none-match': etag ?? '' } })).status, 304);
    const turned = await other.send('/backend-api/agent/responses', {
      body: { model: 'model-b', input: [user('hello')], stream: true, store: false },
    });
    assert.equal(turned.headers.get('x-models-etag'), etag, turned.text);
  });

  test('[Q34] an unknown model at three nodes at once makes one read of each catalog', async () => {
    // This is after the time within which a read of another node counts as current.
    clock.setAhead(15_000);
    one.upstream.clear();
    const answers = await Promise.all(nodes.all.map((node) => node.send('/v1/responses', { body: { model: 'model-a', input: 'hello' } })));
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200],
    );
    // The turns did not wait for the second account.
    await until('the read of the other account', () => reads(BACKEND_MODELS).length >= 2 || undefined);
    await Promise.all(nodes.all.map((node) => node.stop()));
    assert.deepEqual(reads(BACKEND_MODELS), ['north', 'south']);
  });
});
