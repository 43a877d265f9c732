// A conversation continues at any node: each ordered pair of three nodes as (turn, next turn), without a pause in between.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, suite, test } from 'node:test';
import type { JsonObject } from '../../proxy/turn/json/json.ts';
import { FORM_TYPE, formOf } from '../support/form.ts';
import type { Reply, TestGateway } from '../support/gateway.ts';
import { converged, firstAccountOfItsOwn, type Nodes, PATIENT, startNodes, turn, went } from '../support/nodes/convergence.ts';
import { idOf, NATIVE, outputOf, user } from '../support/stages/continuity.ts';
import { connect } from '../support/websocket.ts';

const NATIVE_TURN = { stream: true, store: false, reasoning: { effort: 'medium' }, include: ['reasoning.encrypted_content'] };

/** A turn of a native client. */
const native = (node: TestGateway, body: JsonObject = {}, headers: Record<string, string> = {}): Promise<Reply> =>
  node.send(NATIVE, { headers, body: { model: 'model-a', input: [user('hello')], ...NATIVE_TURN, ...body } });

const idOfEnd = (all: readonly JsonObject[]): string => String((all.at(-1)?.response as JsonObject | undefined)?.id);

async function frames(node: TestGateway, body: JsonObject = {}): Promise<readonly JsonObject[]> {
  using socket = await connect(node);
  return await socket.turn({ model: 'model-a', input: [user('hello')], ...NATIVE_TURN, ...body });
}

suite('conversations over nodes', () => {
  let nodes: Nodes;

  before(async () => {
    // The accounts take any anchor, so only the pin decides where a turn goes.
    nodes = await startNodes(3, {
      clock: PATIENT,
      upstream: { accounts: ['north', 'south', 'east'], strict: false },
      file: firstAccountOfItsOwn,
    });
  });
  after(() => nodes[Symbol.asyncDispose]());

  /** @param run gets the first account of the first node, which is not the first account of the other node */
  const eachPair = (name: string, run: (one: TestGateway, other: TestGateway, account: string) => Promise<void>): void => {
    test(name, async () => {
      for (const [one, other] of nodes.pairs) {
        one.upstream.clear();
        await run(one, other, String(one.config.pools[0]?.assignments[0]?.account));
      }
    });
  };

  const firstTurns: Readonly<Record<string, (node: TestGateway, account: string) => Promise<string>>> = {
    'a collected answer': async (node) => idOf(await native(node, { store: true, stream: false })),
    'a native stream': async (node) => idOf(await native(node, { store: true })),
    'a native stream in one piece': async (node, account) => {
      node.upstream.next(account, 'no preamble');
      return idOf(await native(node, { store: true }));
    },
    'a websocket': async (node) => idOfEnd(await frames(node)),
  };
  for (const [kind, first] of Object.entries(firstTurns)) {
    eachPair(`[Q34] a response of one node, by ${kind}, is continued at another one at once`, async (one, other, account) => {
      const id = await first(one, account);
      assert.equal((await native(other, { store: true, previous_response_id: id })).status, 200);
      assert.deepEqual(went(other), [account, account]);
    });
  }

  eachPair('[Q34] a session stays at its account, whichever node has its next turn', async (one, other, account) => {
    const headers = { 'session-id': randomUUID() };
    // The other node has looked for the session and has not found it.
    other.upstream.next(String(other.config.pools[0]?.assignments[0]?.account), 'refuse 400');
    assert.equal((await other.send('/v1/responses', { headers, body: { model: 'model-a', input: 'hi' } })).status, 400);
    other.upstream.clear();
    await turn(one, {}, headers);
    await turn(other, {}, headers);
    assert.deepEqual(went(other), [account, account]);
  });

  eachPair('[Q34] turn state that one node issued goes back to its account from another one', async (one, other, account) => {
    const first = await native(one);
    const state = first.headers.get('x-agent-turn-state') ?? '';
    assert.notEqual(state, '');
    const next = await native(other, {}, { 'x-agent-turn-state': state });
    assert.equal(next.status, 200, next.text);
    const arrival = other.upstream.turns().at(-1);
    assert.deepEqual([arrival?.account, arrival?.headers['x-agent-turn-state']], [account, state]);
  });

  eachPair('[Q34] ciphertext goes to its maker from another node', async (one, other, account) => {
    const made = outputOf(await native(one));
    await native(other, { input: [user('hello'), ...made, user('more')] });
    assert.deepEqual(went(other), [account, account]);
  });

  eachPair('[Q34] a prompt cache key goes to the account that has its prompt cached', async (one, other, account) => {
    const cached = { prompt_cache_key: randomUUID() };
    await turn(one, cached);
    await turn(other, cached);
    assert.deepEqual(went(other), [account, account]);
  });

  eachPair('[Q34] a file that was uploaded at one node is used at another one', async (one, other, account) => {
    const parts = [
      { name: 'file', filename: 'notes.txt', type: 'text/plain', value: Buffer.from('bytes') },
      { name: 'purpose', value: 'user_data' },
    ];
    const made = await one.send('/v1/files', { body: formOf(parts), headers: { 'content-type': FORM_TYPE } });
    assert.equal(made.status, 200, made.text);
    const { id } = made.json;
    const [read, list] = await Promise.all([other.send(`/v1/files/${id}`), other.send('/v1/files')]);
    assert.deepEqual([read.json.id, read.json.status], [id, 'processed']);
    assert.ok(list.json.data.some((file: JsonObject) => file.id === id));
    one.upstream.clear();
    await turn(other, { input: [{ role: 'user', content: [{ type: 'input_file', file_id: id }] }] });
    assert.deepEqual(went(other), [account]);
    for (const [method, path] of [
      ['DELETE', `/v1/files/${id}`],
      ['GET', `/v1/files/${id}/content`],
    ] as const) {
      assert.equal((await other.send(path, { method })).json.error.code, 'unsupported_endpoint');
    }
  });

  test('[Q34] a session that moved at one node moves at the others', async () => {
    const [one, other] = nodes.all as [TestGateway, TestGateway];
    const headers = { 'session-id': 'moving' };
    await turn(one, {}, headers);
    await turn(other, {}, headers);
    assert.deepEqual(went(one), ['north', 'north']);
    one.upstream.next('north', 'refuse 503');
    await turn(one, {}, headers);
    assert.deepEqual(went(one), ['north', 'south']);
    await converged('the session to move', async () => {
      await turn(other, {}, headers);
      return went(other)[0] === 'south' || undefined;
    });
  });

  test('[Q34] no end of a turn left before its pin was stored', () => {
    for (const node of nodes.all) assert.equal(node.count('pins_late'), 0);
  });
});
