// Each node has its own file: a start is compared with the last configuration of that node, never with the file of another node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestGateway } from '../support/gateway.ts';
import { startNodes } from '../support/nodes/convergence.ts';

test('[Q34] nodes with different files audit only their own changes', async () => {
  await using nodes = await startNodes(2, {
    file: (draft, number) => {
      draft.pools[0].max_attempts = 2 + number;
    },
  });
  const [one, other] = nodes.all as [TestGateway, TestGateway];
  await one.auditStart();
  await other.auditStart();
  for (let restart = 0; restart < 3; restart++) for (const node of [one, other]) await node.auditStart();
  const starts = (await one.audit('config.start')).toReversed();
  assert.deepEqual(
    starts.map(({ actor, fields }) => [actor, fields[0]?.from]),
    [
      ['start@own-1', null],
      ['start@own-2', null],
    ],
  );
  assert.deepEqual(await one.audit('pool.change'), []);

  await one.stop();
  const changed = await one.twin({
    config: (draft) => {
      draft.node = { id: 'own-1' };
      draft.pools[0].max_attempts = 7;
    },
  });
  await changed.auditStart();
  const changes = await other.audit('pool.change');
  assert.deepEqual(
    changes.map(({ actor, fields }) => [actor, fields]),
    [['start@own-1', [{ path: 'pools[team].max_attempts', from: 3, to: 7 }]]],
  );
  assert.equal(
    (await other.audit('config.start')).find(({ target }) => target !== starts[0]?.target && target !== starts[1]?.target)?.fields[0]?.from,
    starts[0]?.target,
  );
  await changed.stop();
});
