// Continuations by `previous_response_id` over the wire: they are bound to one account, with each outcome there (F8.2).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Reply } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, responseId } from '../../support/native-frames.ts';
import { idOf, NATIVE, OTHER_KEY, OTHER_POOL, PUBLIC, Stage } from '../../support/stages/continuity.ts';
import { connect } from '../../support/websocket.ts';

let stage: Stage;
before(async () => {
  // HTTP providers refuse anchors. These accounts take them, so that no such refusal is mistaken for one of the gateway.
  stage = await Stage.set({ strict: false });
});
after(() => stage.strike());
beforeEach(() => stage.clear());

function assertRestart({ status, json, headers }: Reply): void {
  assert.deepEqual([status, json.error.code, json.error.type], [400, 'continuation_requires_restart', 'invalid_request_error']);
  assert.match(json.error.message, /full context without stale continuation anchors/);
  assert.equal(headers.get('x-agent-recovery'), 'restart_with_full_context');
}

describe('of stored responses', () => {
  test('[F8.2] a continuation goes to the account of its response, independent of session and strategy', async () => {
    const headers = { 'session-id': 'anchored' };
    const id = idOf(await stage.atSouth());
    await stage.turn({ headers });
    assert.deepEqual(stage.went(), ['north']);
    const reply = await stage.turn({ headers, body: { previous_response_id: id } });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(stage.went(), ['south']);
    assert.equal((await stage.lastRow()).why?.reason, 'hard_pin');
  });

  test("[F8.2] an unknown anchor, or another Pool's, is refused before dispatch", async () => {
    const id = idOf(await stage.atSouth());
    for (const sent of [{ body: { previous_response_id: 'resp_never_seen' } }, { body: { previous_response_id: id }, key: OTHER_POOL }]) {
      const { status, json } = await stage.turn(sent);
      assert.deepEqual([status, json.error.code, json.error.param], [400, 'previous_response_not_found', 'previous_response_id']);
    }
    const wrong = await stage.turn({ body: { previous_response_id: 7 } });
    assert.deepEqual([wrong.status, wrong.json.error.code, wrong.json.error.param], [400, 'invalid_request', 'previous_response_id']);
    assert.deepEqual(stage.went(), []);
    assert.equal((await stage.turn({ body: { previous_response_id: null } })).status, 200, 'null is none');
    assert.equal((await stage.turn({ key: OTHER_KEY, body: { previous_response_id: id } })).status, 200);
    assert.deepEqual(stage.went(), ['north', 'south'], "the Pool's other keys know it");
  });

  test('[F8.2] an account that needs re-authentication fails the continuation, and the error says how to recover', async () => {
    const id = idOf(await stage.atSouth());
    stage.gate.upstream.next('south', 'refuse 401');
    await stage.turn({ body: { previous_response_id: id } });
    assert.deepEqual(stage.went(), ['south']);
    assertRestart(await stage.turn({ body: { previous_response_id: id } }));
    assert.deepEqual(stage.went(), []);
    assert.equal((await stage.turn()).status, 200, 'without the anchor it is served');
  });

  test('[F8.2] an account that left the Pool fails the continuation in the same way', async () => {
    const id = idOf(await stage.atSouth());
    const assigned = stage.gate.config.pools[0]?.assignments.map(({ account }) => ({ account }));
    await stage.gate.reconfigure((draft) => {
      draft.pools[0].assignments = [{ account: 'north' }, { account: 'east' }];
    });
    assertRestart(await stage.turn({ body: { previous_response_id: id } }));
    assert.deepEqual(stage.went(), []);
    await stage.gate.reconfigure((draft) => {
      draft.pools[0].assignments = assigned;
    });
  });

  test('[F8.2] a continuation never moves: the client gets the failure of its account', async () => {
    const id = idOf(await stage.atSouth());
    for (const [script, expected] of [
      ['refuse 503', [503, 'server_is_overloaded']],
      ['refuse 401', [400, 'continuation_requires_restart']],
      ['refuse inside', [200, undefined]],
      ['cut before headers', [502, 'upstream_error']],
    ] as const) {
      stage.gate.upstream.next('south', script);
      const { status, json } = await stage.turn({ body: { previous_response_id: id } });
      assert.deepEqual([status, json?.error?.code], expected, script);
      assert.deepEqual(stage.went(), ['south'], script);
      stage.gate.heal();
    }
  });

  test('[F8.2] a continuation whose account is out of quota gets the time of the reset', async () => {
    const id = idOf(await stage.atSouth());
    await stage.spend('south');
    const { status, json } = await stage.turn({ body: { previous_response_id: id } });
    assert.deepEqual([status, json.error.code], [429, 'usage_limit_reached']);
    assert.equal(typeof json.error.resets_at, 'number');
    assert.deepEqual(stage.went(), []);
  });
});

test('[F8.2] a JSON answer and an incomplete one can be continued, a reply that broke off cannot', async () => {
  const json = idOf(await stage.turn({ body: { stream: false } }));
  const short = idOf(await stage.turn({ body: { max_output_tokens: 1 } }));
  stage.gate.upstream.next('north', 'cut after 8 events');
  const cut = await stage.gate
    .fetch(NATIVE, { body: { model: 'model-a', stream: true, store: true, input: [] } })
    .then(async (response) => {
      let text = '';
      try {
        for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString();
      } catch {
        // The reply breaks off as intended.
      }
      return /"id":"(resp_[^"]+)"/.exec(text)?.[1];
    });
  assert.match(cut ?? '', /^resp_/);
  const statuses: unknown[] = [];
  for (const id of [json, short, cut]) {
    const reply = await stage.turn({ body: { previous_response_id: id ?? '' } });
    statuses.push(reply.json?.error?.code ?? reply.status);
  }
  assert.deepEqual(statuses, [200, 200, 'previous_response_not_found']);
});

test('[F8.2] a response id is valid for 24 hours', async () => {
  const id = idOf(await stage.atSouth());
  stage.clock.setAhead(86_000_000);
  assert.equal((await stage.turn({ body: { previous_response_id: id } })).status, 200);
  stage.clock.setAhead(400_001);
  assert.equal((await stage.turn({ body: { previous_response_id: id } })).json.error.code, 'previous_response_not_found');
});

test('[F8.2] response ids survive a restart', async () => {
  const id = idOf(await stage.atSouth());
  await stage.restart();
  assert.equal((await stage.turn({ body: { previous_response_id: id } })).status, 200);
  assert.deepEqual(stage.went(), ['south']);
});

const notFound = [400, 'previous_response_not_found', 'previous_response_id'];

test('[RB11] a response that is stored gets a pin', async () => {
  await stage.turn();
  const before = await stage.gate.pinRows();
  await stage.turn();
  assert.equal((await stage.gate.pinRows()) - before, 3, 'its id, its ciphertext and its turn state');
});

for (const path of [PUBLIC, NATIVE]) {
  const unstored = path === NATIVE ? { store: false } : {};

  test(`[RB11] ${path} over HTTP: a response that is not stored gets no pin, and an anchor to it is refused before dispatch`, async () => {
    await stage.turn({ path, body: unstored });
    const before = await stage.gate.pinRows();
    const id = idOf(await stage.turn({ path, body: unstored }));
    assert.equal(
      (await stage.gate.pinRows()) - before,
      path === NATIVE ? 2 : 1,
      'its ciphertext, and on the native surface its turn state',
    );
    stage.gate.upstream.clear();
    const { status, json } = await stage.turn({ path, body: { ...unstored, previous_response_id: id } });
    assert.deepEqual([status, json.error.code, json.error.param], notFound);
    assert.deepEqual(stage.went(), []);
  });

  test(`[RB11] [F8.2] ${path} over HTTP: nothing continues a response of a websocket, whose pin still names a lost account`, async () => {
    const socket = await connect(stage.gate, NATIVE_SOCKET);
    const anchored = { ...unstored, previous_response_id: responseId(await socket.turn(frameOf('one'))) };
    const account = stage.went()[0] ?? '';
    await stage.restart();
    const { status, json } = await stage.turn({ path, body: anchored });
    assert.deepEqual([status, json.error.code, json.error.param], notFound);
    const assigned = stage.gate.config.pools[0]?.assignments.map(({ account }) => ({ account }));
    await stage.gate.reconfigure((draft) => {
      draft.pools[0].assignments = assigned?.filter((one) => one.account !== account);
    });
    assertRestart(await stage.turn({ path, body: anchored }));
    assert.deepEqual(stage.went(), []);
    await stage.gate.reconfigure((draft) => {
      draft.pools[0].assignments = assigned;
    });
  });
}
