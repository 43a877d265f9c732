// The state of an account that one node detects reaches the other nodes: cooldowns, exhaustion, refused credentials, and restores by an
// operator.
import assert from 'node:assert/strict';
import { after, before, beforeEach, suite, test } from 'node:test';
import type { TestGateway } from '../support/gateway.ts';
import { converged, type Nodes, startNodes, turn, went } from '../support/nodes/convergence.ts';

suite('account state over nodes', () => {
  let nodes: Nodes;
  let one: TestGateway;
  let other: TestGateway;

  before(async () => {
    nodes = await startNodes(2);
    [one, other] = nodes.all as [TestGateway, TestGateway];
  });
  after(() => nodes[Symbol.asyncDispose]());

  beforeEach(async () => {
    for (const node of nodes.all) node.heal();
    await converged('both to be healthy', () => nodes.all.every((node) => node.account('north').status === 'active') || undefined);
    one.upstream.clear();
  });

  test('[Q34] a rate limit that one node met keeps the turns of the other away', async () => {
    one.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
    await turn(one);
    assert.deepEqual(went(one), ['north', 'south']);
    await converged('the cooldown', () => other.account('north').models['model-a']?.until);
    await turn(other);
    assert.deepEqual(went(other), ['south']);
  });

  test('[Q34] a refused credential is refused at every node', async () => {
    one.upstream.next('north', 'refuse 401');
    await turn(one);
    await converged('the refusal', () => other.account('north').status === 'reauth_required' || undefined);
    one.upstream.clear();
    await turn(other);
    assert.deepEqual(went(other), ['south']);
  });

  test('[Q34] what an operator restores at one node is restored at the others', async () => {
    one.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
    await turn(one);
    await converged('the cooldown', () => other.account('north').models['model-a']);
    // The restore is sent to the node that did not record the failure.
    const answer = await fetch(`${other.adminUrl}/api/accounts/north/restore`, { method: 'POST', headers: { 'x-poolgate-command': '1' } });
    assert.equal(answer.status, 200, await answer.text());
    await converged('the end of the cooldown', () => one.account('north').models['model-a'] === undefined || undefined);
    one.upstream.clear();
    await turn(one);
    assert.deepEqual(went(one), ['north']);
  });

  test('[Q34] a reply that was running elsewhere when a cooldown opened does not end it', async () => {
    other.upstream.next('north', 'stall after 2 events');
    const running = turn(other);
    await other.upstream.stalled('north');
    one.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
    await turn(one);
    await converged('the cooldown', () => other.account('north').models['model-a']?.until);
    other.upstream.release('north');
    await running;
    await other.flush();
    await one.poll();
    for (const node of nodes.all) assert.ok(node.account('north').models['model-a']?.until, 'the cooldown goes on');
  });

  /** This test is the last one, because the account stays exhausted. */
  test('[Q34] an exhausted quota is known to the other node, with its reset', async () => {
    one.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
    await turn(one);
    await converged('the exhaustion', () => other.quota('north').status === 'exhausted' || undefined);
    assert.equal(other.quota('north').until, one.quota('north').until);
    one.upstream.clear();
    await turn(other);
    assert.deepEqual(went(other), ['south']);
  });
});

test('[Q34] a node whose file no longer has an account leaves its state to the nodes that have it', async () => {
  await using own = await startNodes(2);
  const [one, other] = own.all as [TestGateway, TestGateway];
  one.upstream.next('north', 'refuse 429 rate_limit_exceeded retry 3600');
  await turn(one);
  await converged('the cooldown', () => other.account('north').models['model-a']?.until);
  await other.reconfigure((draft) => {
    draft.accounts = draft.accounts.filter(({ id }: { id: string }) => id !== 'north');
    draft.pools[0].assignments = [{ account: 'south' }];
  });
  await turn(other);
  await other.flush();
  await one.poll();
  const later = await one.twin();
  const until = [one, later].map((node) => node.account('north').models['model-a']?.until);
  await later.stop();
  assert.ok(until.every(Boolean), `the cooldown holds: ${until}`);
});
