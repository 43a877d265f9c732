// A conversation over three nodes in separate processes: each ordered pair of nodes as (turn, next turn), and websockets whose clients come
// back at another node (Q34, F8.4, SM6).
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf } from '../../support/form.ts';
import type { Draft, Reply } from '../../support/gateway.ts';
import { frameDialect, turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { firstAccountOfItsOwn } from '../../support/nodes/convergence.ts';
import { type NodeProcess, type NodeProcesses, startNodeProcesses } from '../../support/nodes/node-processes.ts';
import { idOf, NATIVE, outputOf, user } from '../../support/stages/continuity.ts';
import { dropped, interrupted, openSession, QUESTION, type Session, wholeTurn } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';

const NATIVE_TURN = { stream: true, store: false, reasoning: { effort: 'medium' }, include: ['reasoning.encrypted_content'] };
const MODES = ['lite', 'full'] as const;

let cluster: NodeProcesses;
let pairs: readonly (readonly [NodeProcess, NodeProcess])[];

before(async () => {
  cluster = await startNodeProcesses(['a', 'b', 'c'], {
    // The accounts take any anchor, so only the pin decides where a turn goes.
    upstream: { accounts: ['north', 'south', 'east'], strict: false },
    file: firstAccountOfItsOwn,
  });
  pairs = cluster.nodes.flatMap((one) => cluster.nodes.filter((other) => other !== one).map((other) => [one, other] as const));
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => cluster.upstream.clear());

function went(): readonly string[] {
  const accounts = cluster.upstream.turns().map(({ account }) => account);
  cluster.upstream.clear();
  return accounts;
}

async function turn(node: NodeProcess, body: JsonObject = {}, headers: Record<string, string> = {}): Promise<Reply> {
  const reply = await node.send('/v1/responses', { headers, body: { model: 'model-a', input: 'hello', ...body } });
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

const native = (node: NodeProcess, body: JsonObject = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  node.send(NATIVE, { headers, body: { model: 'model-a', input: [user('hello')], ...NATIVE_TURN, ...body } });

async function uploaded(node: NodeProcess): Promise<string> {
  const parts = [
    { name: 'file', filename: 'notes.txt', type: 'text/plain', value: Buffer.from('bytes') },
    { name: 'purpose', value: 'user_data' },
  ];
  const made = await node.send('/v1/files', { body: formOf(parts), headers: { 'content-type': FORM_TYPE } });
  assert.equal(made.status, 200, made.text);
  return made.json.id;
}

describe('[Q34] a conversation over node processes stays with its account', () => {
  /** @param run runs a turn at the first node, which goes to an account that only this node prefers, and the next turn at the other node */
  const eachPair = (name: string, run: (one: NodeProcess, other: NodeProcess) => Promise<void>): void => {
    test(`[Q34] ${name}, from every node to every other`, async () => {
      for (const [one, other] of pairs) {
        // On a busy machine a pin may be stored after its reply was sent: the node counts that, and the pair starts again (Q34).
        for (let late = await one.count('pins_late'); ; late = await one.count('pins_late')) {
          cluster.upstream.clear();
          const failed = await run(one, other).catch((thrown: unknown) => thrown);
          const [at, then, ...more] = went();
          if ((failed !== undefined || then !== at) && (await one.count('pins_late')) > late) continue;
          if (failed !== undefined) throw failed;
          assert.deepEqual([then, more], [at, []], `${one.id} then ${other.id}`);
          break;
        }
      }
    });
  };

  eachPair('with previous_response_id of a native stream', async (one, other) => {
    const id = idOf(await native(one, { store: true }));
    assert.equal((await native(other, { store: true, previous_response_id: id })).status, 200);
  });

  eachPair('as the session that it names', async (one, other) => {
    const headers = { 'session-id': randomUUID() };
    await turn(one, {}, headers);
    await turn(other, {}, headers);
  });

  eachPair('with its turn state', async (one, other) => {
    const state = (await native(one)).headers.get('x-agent-turn-state') ?? '';
    assert.notEqual(state, '');
    const next = await native(other, {}, { 'x-agent-turn-state': state });
    assert.equal(next.status, 200, next.text);
  });

  eachPair('with ciphertext', async (one, other) => {
    await native(other, { input: [user('hello'), ...outputOf(await native(one)), user('more')] });
  });

  test('[Q34] a file that was uploaded at one node is read and used at every other', async () => {
    for (const [one, other] of pairs) {
      const id = await uploaded(one);
      const read = await other.send(`/v1/files/${id}`);
      assert.deepEqual([read.json.id, read.json.status], [id, 'processed']);
      cluster.upstream.clear();
      const input = [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }];
      await turn(one, { input });
      await turn(other, { input });
      const [at, then] = went();
      assert.equal(then, at, `${one.id} then ${other.id}`);
    }
  });
});

describe('[Q34] native websockets over node processes', () => {
  const sessionOf = (one: NodeProcess, other: NodeProcess, what: string): Session => ({
    'x-agent-window-id': `${what}-${one.id}-${other.id}:0`,
  });
  const dispatched = (): readonly (readonly [string, string])[] =>
    cluster.upstream.turns().map((each) => [each.account, frameDialect(each)]);
  /** Puts the account that `interrupted` prepares first at every node. */
  const northFirst = (draft: Draft): void => {
    const [{ assignments }] = draft.pools;
    assignments.sort((one: { account: string }) => (one.account === 'north' ? -1 : 0));
  };
  const reconfigureAll = (edit: (draft: Draft) => void): Promise<unknown> =>
    Promise.all(cluster.nodes.map((node) => node.reconfigure(edit)));

  before(() => reconfigureAll(northFirst));

  async function droppedAt(node: NodeProcess, session: Session): Promise<void> {
    await dropped(node, await interrupted({ url: node.url, upstream: cluster.upstream }, 4, { session }));
  }

  test('[Q34] [F8.4] a turn dropped at one node is rejoined at every other: one dispatch, and the client sees all of it', async () => {
    for (const [one, other] of pairs) {
      cluster.upstream.clear();
      const session = sessionOf(one, other, 'rejoined');
      await droppedAt(one, session);
      using socket = await openSession(other, session);
      socket.send(turnFrame('t1', QUESTION));
      await until('the replay', () => socket.frames.length >= 5 || undefined);
      cluster.upstream.release('north');
      assert.deepEqual(typesOf(await socket.rest()), wholeTurn, `${one.id} then ${other.id}`);
      assert.equal(cluster.upstream.turns().length, 1);
    }
  });

  for (const [i, before] of MODES.entries()) {
    const after = MODES[1 - i] ?? before;
    test(`[SM6] [Q34] a turn that another node forwards keeps ${before} while ${after} is saved, and the next one has ${after}`, async () => {
      const inMode = (mode: string) => (draft: Draft) => {
        draft.pools[0].serving_modes = { 'model-a': mode };
      };
      await reconfigureAll(inMode(before));
      for (const [one, other] of pairs.slice(0, 2)) {
        cluster.upstream.clear();
        const session = sessionOf(one, other, before);
        await droppedAt(one, session);
        using socket = await openSession(other, session);
        socket.send(turnFrame('t1', QUESTION));
        await until('the replay', () => socket.frames.length >= 5 || undefined);
        await reconfigureAll(inMode(after));
        cluster.upstream.release('north');
        assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
        socket.send(turnFrame('t2', [userMessage('more')], { previous_response_id: 'resp_1' }));
        assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
        assert.deepEqual(dispatched(), [
          ['north', before],
          ['north', after],
        ]);
        await reconfigureAll(inMode(before));
      }
    });
  }

  // This test is the last one, because its node is gone afterwards.
  test('[Q34] [F8.4] a turn whose node is killed starts again at the node where its client comes back', async () => {
    const [one, other] = pairs[0] as (typeof pairs)[number];
    const session = sessionOf(one, other, 'killed');
    await droppedAt(one, session);
    await one.end('SIGKILL');
    using socket = await openSession(other, session);
    socket.send(turnFrame('t1', QUESTION));
    const frames = await socket.rest();
    assert.equal(typesOf(frames).at(-1), 'response.completed');
    assert.equal(cluster.upstream.turns().length, 2);
  });
});
