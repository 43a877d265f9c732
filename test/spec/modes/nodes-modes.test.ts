// The transitions of serving modes (contract: States and transitions) if one node forwards a client to another: each row of their table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Draft, TestGateway } from '../../support/gateway.ts';
import { frameDialect, LITE_MARKER, turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { startNodes } from '../../support/nodes/nodes.ts';
import {
  dropped,
  interrupted,
  openSession,
  QUESTION,
  SESSION,
  turnsAndRetries,
  wholeTurn,
} from '../../support/stages/interrupted-turns.ts';
import type { TestSocket } from '../../support/websocket.ts';

const dialects = (gate: TestGateway): readonly string[] => gate.upstream.turns().map(frameDialect);

const modes = async (gate: TestGateway): Promise<unknown> =>
  (await turnsAndRetries(gate)).turns.map(({ configured_mode, effective_mode, mode_source }) => [
    configured_mode,
    effective_mode,
    mode_source,
  ]);

const inMode = (mode: string) => (draft: Draft) => {
  draft.pools[0].serving_modes = { 'model-a': mode };
};

/** Connects a client to `b`, which forwards it to `a`; the client has rejoined its interrupted turn, and the turn has ended. */
async function forwarded(a: TestGateway, b: TestGateway): Promise<TestSocket> {
  await dropped(a, await interrupted(a, 4));
  const socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  return socket;
}

const ANCHORED = { previous_response_id: 'resp_1' };
const next = (text: string): JsonObject => turnFrame('t2', [userMessage(text)], ANCHORED);

for (const [before, after] of [
  ['lite', 'full'],
  ['full', 'lite'],
] as const) {
  test(`[SM6] [Q34] a turn in flight keeps ${before} when ${after} is saved at every node and its client comes back at another`, async () => {
    await using nodes = await startNodes(['a', 'b'], { config: inMode(before) });
    const { a, b } = nodes;
    await dropped(a, await interrupted(a, 4));
    await Promise.all([a, b].map((node) => node.reconfigure(inMode(after))));
    using socket = await openSession(b);
    socket.send(turnFrame('t1', QUESTION));
    a.upstream.release('north');
    assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
    assert.deepEqual([dialects(a), await modes(a)], [[before], [[before, before, 'override']]]);
  });

  test(`[SM6] [SM8] [Q34] the next turn on a forwarded websocket is ${after} once that is saved at the client's node`, async () => {
    await using nodes = await startNodes(['a', 'b'], { config: inMode(before) });
    const { a, b } = nodes;
    using socket = await forwarded(a, b);
    await b.reconfigure(inMode(after));
    socket.send(next('more'));
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    await b.reconfigure(inMode(before));
    await a.reconfigure(inMode(after));
    socket.send(turnFrame('t3', [userMessage('and more')]));
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    assert.deepEqual(dialects(a), [before, after, before]);
    assert.deepEqual(await modes(a), [
      [before, before, 'override'],
      [after, after, 'override'],
      [before, before, 'override'],
    ]);
  });

  test(`[SM7] [Q34] a turn that one node forwards in ${before} is dispatched in ${before} by the other, and survives failover in it`, async () => {
    await using nodes = await startNodes(['a', 'b'], { config: inMode(after) });
    const { a, b } = nodes;
    await b.reconfigure(inMode(before));
    await dropped(a, await interrupted(a, 4));
    a.upstream.next('north', 'refuse 503');
    using socket = await openSession(b);
    socket.send(turnFrame('t2', [userMessage('edited')]));
    assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
    assert.deepEqual(
      a.upstream.turns().map((turn) => [turn.account, frameDialect(turn)]),
      [
        ['north', after],
        ['north', before],
        ['south', before],
      ],
    );
    assert.deepEqual((await modes(a)) as unknown[], [
      [after, after, 'override'],
      [before, before, 'override'],
    ]);
  });
}

test('[SM7] [Q34] a mode of the catalog is captured like one of an operator', async () => {
  await using nodes = await startNodes(['a', 'b'], {
    config: inMode('full'),
    own: (draft, node) => {
      if (node === 'b') inMode('auto')(draft);
    },
  });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b);
  socket.send(turnFrame('t2', [userMessage('edited')]));
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual((await modes(a)) as unknown[], [
    ['full', 'full', 'override'],
    ['auto', 'full', 'catalog'],
  ]);
});

test('[F2.4] [Q34] the markers of a forwarded client are removed in Full, and have no effect', async () => {
  await using nodes = await startNodes(['a', 'b'], { config: inMode('full') });
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b, { ...SESSION, 'x-internal-agent-responses-lite': 'true' });
  const { client_metadata, ...frame } = turnFrame('t2', [userMessage('edited')]);
  socket.send({ ...frame, client_metadata: { ...(client_metadata as JsonObject), [LITE_MARKER]: 'true' } });
  assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  assert.deepEqual(dialects(a), ['full', 'full']);
  const upgrades = a.upstream.upgrades();
  assert.ok(upgrades.every(({ headers }) => headers['x-internal-agent-responses-lite'] === undefined));
});
