// Sessions and turn state over the wire: the turns of a session keep their account, and turn state goes back only to the account that
// issued it.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Reply } from '../../support/gateway.ts';
import { idOf, NATIVE, OTHER_KEY, OTHER_POOL, PUBLIC, Stage } from '../../support/stages/continuity.ts';

let stage: Stage;
before(async () => {
  stage = await Stage.set();
});
after(() => stage.strike());
beforeEach(() => stage.clear());

const HEADERS = [
  'x-agent-window-id',
  'x-agent-session-id',
  'session-id',
  'x-session-id',
  'x-session-affinity',
  'session_id',
  'x-agent-conversation-id',
];

describe('sessions', () => {
  for (const [place, name] of HEADERS.entries()) {
    test(`[F8.1] ${name} keeps a session at its account, and has precedence over the headers after it in the order`, async () => {
      const session = { [name]: `session-of-${name}` };
      const others = (names: readonly string[]) => Object.fromEntries(names.map((one) => [one, `other-${one}-${place}`]));
      await stage.atSouth({ headers: session });
      await stage.turn({ headers: session });
      await stage.turn({ headers: { ...session, ...others(HEADERS.slice(place + 1)) } });
      assert.deepEqual(stage.went(), ['south', 'south']);
      assert.equal((await stage.lastRow()).why?.reason, 'soft_pin');
      for (const earlier of HEADERS.slice(0, place)) {
        await stage.turn({ headers: { ...session, ...others([earlier]) } });
        assert.deepEqual(stage.went(), ['north'], `${earlier} names another session`);
      }
    });
  }

  test('[F8.1] the windows of one thread are one session', async () => {
    await stage.atSouth({ headers: { 'x-agent-window-id': 'thread-7:0' } });
    await stage.turn({ headers: { 'x-agent-window-id': 'thread-7:1' } });
    await stage.turn({ headers: { 'x-agent-window-id': 'thread-8:0' } });
    assert.deepEqual(stage.went(), ['south', 'north']);
  });

  test('[F8.1] sessions work on the public surface too', async () => {
    const headers = { 'session-id': 'public-1' };
    await stage.atSouth({ path: PUBLIC, headers });
    await stage.turn({ path: PUBLIC, headers });
    await stage.turn({ headers });
    assert.deepEqual(stage.went(), ['south', 'south']);
  });

  test('[F8.1] the same value of another key, or in another Pool, is another session', async () => {
    const headers = { 'session-id': 'shared-name' };
    await stage.atSouth({ headers });
    await stage.turn({ headers, key: OTHER_KEY });
    await stage.turn({ headers, key: OTHER_POOL });
    await stage.turn({ headers });
    assert.deepEqual(stage.went(), ['north', 'north', 'south']);
  });

  test('[F8.1] a session yields to a failure of its account, and stays at the account that took it', async () => {
    const headers = { 'session-id': 'moving' };
    await stage.atSouth({ headers });
    stage.gate.upstream.next('south', 'refuse 503');
    await stage.turn({ headers });
    assert.deepEqual(stage.went(), ['south', 'north']);
    assert.equal((await stage.lastRow()).why?.left_soft_pin, 'tried');
    await stage.turn({ headers });
    assert.deepEqual(stage.went(), ['north'], 'one move for one failure');
  });

  test('[F8.1] a session yields to health and to quota, and its row has the reason', async () => {
    const headers = { 'session-id': 'yielding' };
    await stage.atSouth({ headers });
    await stage.spend('south');
    await stage.turn({ headers });
    assert.deepEqual(stage.went(), ['north']);
    const { why } = await stage.lastRow();
    assert.deepEqual([why?.reason, why?.left_soft_pin], ['fill_first', 'out_of_quota']);

    stage.clear();
    const second = { 'session-id': 'yielding-2' };
    await stage.atSouth({ headers: second });
    const breaking = { 'session-id': 'breaking' };
    await stage.atSouth({ headers: breaking });
    stage.gate.upstream.next('south', 'refuse 403');
    await stage.turn({ headers: breaking });
    assert.deepEqual(stage.went(), ['south', 'north']);
    await stage.turn({ headers: second });
    assert.deepEqual(stage.went(), ['north']);
    assert.equal((await stage.lastRow()).why?.left_soft_pin, 'cooldown');
  });

  test('[F8.1.2] session-id, x-session-id and x-session-affinity are not forwarded, and the others are', async () => {
    const headers = Object.fromEntries(HEADERS.map((name) => [name, `value-of-${name}`]));
    for (const path of [NATIVE, PUBLIC]) {
      await stage.turn({ path, headers });
      const [arrived] = stage.gate.upstream.turns().slice(-1);
      for (const name of ['session-id', 'x-session-id', 'x-session-affinity']) assert.equal(arrived?.headers[name], undefined, name);
      if (path === PUBLIC) continue;
      for (const name of ['x-agent-window-id', 'x-agent-session-id', 'session_id', 'x-agent-conversation-id']) {
        assert.equal(arrived?.headers[name], `value-of-${name}`);
      }
    }
  });

  test('[S4] no session, response id or turn state is on disk, in a row or in the log', async () => {
    const headers = { 'x-agent-window-id': 'thread-of-a-secret-kind:3' };
    const reply = await stage.atSouth({ headers });
    await stage.gate.rows();
    const files = (await readdir(stage.folder)).filter((name) => name.startsWith('poolgate'));
    const bytes = (await Promise.all(files.map((name) => readFile(join(stage.folder, name), 'latin1')))).join('');
    assert(bytes.includes('south'), 'the pin itself is there');
    for (const value of ['secret-kind', stateOf(reply), idOf(reply)]) {
      assert(!bytes.includes(value) && !stage.gate.logged.join('').includes(value), value);
    }
  });
});

const STATE = 'x-agent-turn-state';
const stateOf = (reply: Reply): string => reply.headers.get(STATE) ?? assert.fail('no turn state');

describe('turn state', () => {
  const metadataOf = (json: unknown): JsonObject | undefined => (json as { client_metadata?: JsonObject } | undefined)?.client_metadata;
  /** The account of each turn, and the turn state that it got, in the header and in client_metadata. */
  const arrived = () =>
    stage.gate.upstream.turns().map(({ account, headers, json }) => [account, headers[STATE], metadataOf(json)?.[STATE]]);

  test('goes back to the account that issued it, in the header and in client_metadata', async () => {
    const state = stateOf(await stage.atSouth());
    await stage.turn({ headers: { [STATE]: state }, body: { client_metadata: { [STATE]: state, turn_id: 't' } } });
    assert.deepEqual(arrived(), [['south', state, state]]);
    assert.equal(metadataOf(stage.gate.upstream.turns()[0]?.json)?.turn_id, 't');
  });

  test('and to no other account: another account gets the turn without it', async () => {
    const state = stateOf(await stage.atSouth());
    stage.gate.upstream.next('south', 'refuse 503');
    const { status } = await stage.turn({ headers: { [STATE]: state }, body: { client_metadata: { [STATE]: state, turn_id: 't' } } });
    assert.equal(status, 200);
    assert.deepEqual(arrived(), [
      ['south', state, state],
      ['north', undefined, undefined],
    ]);
  });

  test('is not sent when its session has moved to another account', async () => {
    const headers = { 'session-id': 'state-and-session' };
    const state = stateOf(await stage.turn({ headers }));
    await stage.atSouth({ headers });
    await stage.turn({ headers: { ...headers, [STATE]: state } });
    assert.deepEqual(arrived(), [['south', undefined, undefined]]);
  });

  test('of an unknown issuer, or of another Pool, goes to no account', async () => {
    const state = stateOf(await stage.turn({ key: OTHER_POOL }));
    stage.gate.upstream.clear();
    await stage.turn({ headers: { [STATE]: state }, body: { client_metadata: { [STATE]: 'TS-unknown' } } });
    await stage.turn({ headers: { [STATE]: 'TS-unknown' } });
    assert.deepEqual(arrived(), [
      ['north', undefined, undefined],
      ['north', undefined, undefined],
    ]);
  });

  test('that an event issued is bound in the same way', async () => {
    const metadata = { type: 'response.metadata', headers: { [STATE]: 'TS-of-an-event' } };
    const events = [metadata, { type: 'response.completed', response: { id: 'resp_ts', status: 'completed', output: [] } }];
    stage.gate.upstream.next('north', 'refuse 503');
    stage.gate.upstream.next('south', { kind: 'reply', status: 200, body: { events } });
    await stage.turn();
    stage.gate.upstream.clear();
    await stage.turn({ body: { client_metadata: { [STATE]: 'TS-of-an-event' } } });
    assert.deepEqual(arrived(), [['south', undefined, 'TS-of-an-event']]);
  });

  test('is removed from a pass-through request to another account', async () => {
    const headers = { [STATE]: 'TS-unknown' };
    await stage.gate.send('/backend-api/meter/agent-identities/jwks', { headers });
    const [request] = stage.gate.upstream.requests();
    assert.deepEqual([request?.path, request?.headers[STATE]], ['/backend-api/meter/agent-identities/jwks', undefined]);
  });
});

describe('after a restart', () => {
  test('[F8.1] sessions and turn states stay at their accounts', async () => {
    const headers = { 'session-id': 'restarted' };
    const reply = await stage.atSouth({ headers });
    await stage.restart();
    await stage.turn({ headers });
    await stage.turn({ headers: { [STATE]: stateOf(reply) } });
    const turns = stage.gate.upstream.turns().map((turn) => [turn.account, turn.headers[STATE]]);
    assert.deepEqual(turns, [
      ['south', undefined],
      ['south', stateOf(reply)],
    ]);
  });
});
