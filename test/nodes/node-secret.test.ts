// The secret that signs messages between nodes has to be the same on all of them, and can be replaced while none runs (Q34).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Draft } from '../support/gateway.ts';
import { startNodes } from '../support/nodes/nodes.ts';

const withOtherSecret = (draft: Draft): void => {
  draft.node = { ...draft.node, id: 'other', secret: { env: 'OTHER_SECRET' } };
};

test('[Q34] a node with another node.secret than those that run does not start, and names the setting', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await assert.rejects(a.twin({ config: withOtherSecret }), {
    code: 'other_secret',
    message: 'node.secret: the nodes on this database have another secret; give this node theirs',
  });
  await b.stop();
  await assert.rejects(a.twin({ config: withOtherSecret }), { code: 'other_secret' });
});

test('[Q34] node.secret is replaced when all nodes have stopped', async () => {
  await using nodes = await startNodes(['a']);
  const { a } = nodes;
  await a.stop();
  const other = await a.twin({ config: withOtherSecret });
  const former = (draft: Draft): void => {
    draft.node.id = 'former';
  };
  await assert.rejects(a.twin({ config: former }), { code: 'other_secret' });
  await other.stop();
});

test('[Q34] a node without an internal listener needs no secret, and owns no session', async () => {
  await using nodes = await startNodes(['a', 'b'], {
    own: (draft, node) => {
      if (node === 'b') draft.node = { id: 'b' };
    },
  });
  const { a, b } = nodes;
  assert.deepEqual([a.config.node.listen?.port, b.config.node.listen], [0, undefined]);
  assert.deepEqual(await nodes.owned(), []);
});
