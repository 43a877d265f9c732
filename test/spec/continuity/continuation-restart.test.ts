// The client of the turn that detects that its account has to log in is asked to restart, as in all later turns (F8.2, Q10).
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { type Reply, startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, responseId } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { CHAT, CHAT_ALIAS } from '../../support/turns/turn-paths.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const PUBLIC = '/v1/responses';
const FILE = 'file_of_south';

const withFile = {
  role: 'user',
  content: [
    { type: 'input_text', text: 'read' },
    { type: 'input_file', file_id: FILE },
  ],
};

/** A turn that only `south` can take, because that account has the file. */
function bodyWithFile(path: string, stream: boolean): JsonObject {
  const part = { type: 'file', file: { file_id: FILE } };
  if (path.endsWith('completions')) return { model: 'model-a', stream, messages: [{ role: 'user', content: [part] }] };
  return turnBody('', { stream, input: [{ type: 'message', ...withFile }] });
}

function assertRestart({ status, json, headers, text }: Reply, message: RegExp): void {
  assert.deepEqual([status, json?.error?.code, json?.error?.param], [400, 'continuation_requires_restart', null], text);
  assert.match(json.error.message, message);
  assert.equal(headers.get('x-agent-recovery'), 'restart_with_full_context');
}

const FRAME_HEADERS = { 'x-agent-recovery': 'restart_with_full_context' };

function assertRestartFrame(frames: readonly JsonObject[]): void {
  const { type, status, error, headers } = frames.at(-1) as { type: string; status: number; error: JsonObject; headers: JsonObject };
  assert.deepEqual(
    [type, status, error.code, headers],
    ['error', 400, 'continuation_requires_restart', FRAME_HEADERS],
    JSON.stringify(frames),
  );
}

for (const [pool, accounts] of [
  ['with another account', ['north', 'south']],
  ['without another account', ['south']],
] as const) {
  describe(`[F8.2] [Q10] in a Pool ${pool}, a turn whose account refuses its credential asks for a restart at once`, async () => {
    // HTTP accounts refuse anchors; these take them.
    const gate = await startGateway({ upstream: { accounts, strict: false } });
    after(() => gate.close());
    await gate.addFile('team', FILE, 'south');
    beforeEach(() => gate.reset());

    const onlySouth = (turns: number): void =>
      assert.deepEqual(
        gate.upstream.turns().map(({ account }) => account),
        Array.from({ length: turns }, () => 'south'),
      );

    for (const path of [NATIVE, PUBLIC, CHAT, CHAT_ALIAS]) {
      for (const stream of [true, false]) {
        test(`${path}, a file, ${stream ? 'streamed' : 'collected'}`, async () => {
          gate.upstream.next('south', 'refuse 401');
          assertRestart(await gate.send(path, { body: bodyWithFile(path, stream) }), /Upload the files again/);
          onlySouth(1);
          const row = (await gate.rows()).at(-1);
          assert.deepEqual([row?.status, row?.code, row?.outcome], [400, 'continuation_requires_restart', 'failed']);
          assert.equal(gate.account('south').status, 'reauth_required');
          assertRestart(await gate.send(path, { body: bodyWithFile(path, stream) }), /Upload the files again/);
          onlySouth(1);
        });
      }
    }

    test(`${NATIVE}, a refusal of the credential inside the reply`, async () => {
      gate.upstream.next('south', 'refuse inside token_invalidated');
      const reply = await gate.send(NATIVE, { body: bodyWithFile(NATIVE, true) });
      assert.equal(gate.account('south').status, 'reauth_required');
      assertRestart(reply, /Upload the files again/);
    });

    test(`${NATIVE}, a stored response`, async () => {
      if (accounts.length > 1) gate.upstream.next('north', 'refuse 503');
      const first = await gate.send(NATIVE, { body: turnBody('one', { store: true }) });
      const id = eventsOf(first.text).at(-1)?.data.response.id;
      gate.upstream.clear();
      gate.upstream.next('south', 'refuse 401');
      assertRestart(
        await gate.send(NATIVE, { body: turnBody('two', { store: true, previous_response_id: id }) }),
        /without stale continuation anchors/,
      );
      onlySouth(1);
    });

    test('the finalisation of a file', async () => {
      gate.upstream.nextOn('north', '/backend-api/files', 'refuse 503');
      const created = await gate.send('/backend-api/files', { body: { file_name: 'a.txt', file_size: 1, use_case: 'user_data' } });
      gate.upstream.nextOn('south', '/backend-api/files/*/uploaded', 'refuse 401');
      const reply = await gate.send(`/backend-api/files/${created.json.file_id}/uploaded`, { body: {} });
      assert.equal(gate.account('south').status, 'reauth_required');
      assertRestart(reply, /Upload the files again/);
    });

    for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
      test(`websocket ${path}: a response, on the live socket`, async () => {
        if (accounts.length > 1) gate.upstream.nextUpgrade('north', 'refuse upgrade 503');
        using socket = await connect(gate, path);
        const id = responseId(await socket.turn(frameOf('one')));
        gate.upstream.clear();
        gate.upstream.next('south', 'refuse 401');
        assertRestartFrame(await socket.turn(frameOf('two', { previous_response_id: id })));
        onlySouth(1);
        assertRestartFrame(await socket.turn(frameOf('two', { previous_response_id: id })));
      });

      test(`websocket ${path}: a file, at the upgrade`, async () => {
        gate.upstream.nextUpgrade('south', 'refuse upgrade 401');
        using socket = await connect(gate, path);
        assertRestartFrame(await socket.turn(frameOf('', { input: [{ type: 'message', ...withFile }] })));
        onlySouth(0);
        assert.equal(gate.upstream.upgrades('south').length, 1);
      });
    }
  });
}

describe('[Q9] [F8.2] an account whose credential can be renewed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-restart-'));
  after(() => rm(folder, { recursive: true, force: true }));

  /** Each gateway has its own store, because a store remembers which tokens an endpoint refused. */
  async function renewable(name: string): Promise<TestGateway> {
    const file = `${folder}/${name}.json`;
    await writeFile(file, JSON.stringify({ tokens: { refresh_token: 'rt-1', access_token: 'at-1' } }));
    const gate = await startGateway({
      store: `sqlite:${folder}/${name}.db`,
      upstream: {
        accounts: ['north', { id: 'south', strict: false, oauth: { refresh_token: 'rt-1', access_token: 'at-1', expires_in: 3_600 } }],
      },
      config: (draft) => {
        draft.store_key = { file: `${folder}/${name}.key` };
        const south = draft.accounts[1];
        south.credential = { oauth: { file, token_url: `${south.base_url}/oauth/token`, client_id: 'c' } };
      },
    });
    await gate.addFile('team', FILE, 'south');
    return gate;
  }

  test('serves the turn with the new one', async () => {
    await using gate = await renewable('served');
    gate.upstream.next('south', 'refuse 401');
    const reply = await gate.send(NATIVE, { body: bodyWithFile(NATIVE, true) });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(gate.upstream.turns('south').length, 2);
  });

  for (const [renewal, turns] of [
    ['granted', 2],
    ['refused', 1],
  ] as const) {
    test(`asks for a restart where the renewal is ${renewal} and the credential is refused for good`, async () => {
      await using gate = await renewable(renewal);
      gate.upstream.always('south', 'refuse 401');
      if (renewal === 'refused') gate.upstream.nextOn('south', '/oauth/token', 'refuse 401 refresh_token_expired');
      assertRestart(await gate.send(NATIVE, { body: bodyWithFile(NATIVE, true) }), /Upload the files again/);
      assert.equal(gate.upstream.turns('south').length, turns);
    });
  }

  test('is not judged while the token endpoint does not answer: the turn is 502', async () => {
    await using gate = await renewable('unknown');
    gate.upstream.next('south', 'refuse 401');
    gate.upstream.nextOn('south', '/oauth/token', 'refuse 503');
    const { status, json } = await gate.send(NATIVE, { body: bodyWithFile(NATIVE, true) });
    assert.deepEqual([status, json.error.code], [502, 'upstream_error']);
    assert.notEqual(gate.account('south').status, 'reauth_required');
  });
});
