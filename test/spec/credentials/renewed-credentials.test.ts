// A credential that expires while turns run: after a refusal inside a reply it is renewed, and the turn is sent again only if the client
// has no output; a credential that was renewed in the meantime stays secret (Q3, Q5, Q9).
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../../proxy/base/time/clock.ts';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const ACCESS = 'at-from-the-file';

/** A Pool of one account with a login. */
async function withLogin(context: TestContext, clock = new ShiftedClock()): Promise<TestGateway> {
  const folder = await mkdtemp(join(tmpdir(), 'poolgate-renewed-'));
  await writeFile(join(folder, 'north.json'), JSON.stringify({ tokens: { access_token: ACCESS, refresh_token: 'rt-1' } }));
  const gate = await startGateway({
    clock,
    store: `sqlite:${folder}/p.db`,
    upstream: {
      clock: { now: () => clock.now(), wallTime: () => clock.now(), after: systemClock.after },
      accounts: [{ id: 'north', oauth: { refresh_token: 'rt-1', access_token: ACCESS, expires_in: 3_600 } }],
    },
    config: (draft) => {
      const [north] = draft.accounts;
      draft.store_key = { file: `${folder}/store.key` };
      north.credential = { oauth: { file: `${folder}/north.json`, token_url: `${north.base_url}/oauth/token`, client_id: 'c' } };
    },
  });
  context.after(async () => {
    await gate.close();
    await rm(folder, { recursive: true });
  });
  gate.upstream.clear();
  return gate;
}

const DELTA = { type: 'response.output_text.delta', output_index: 0, delta: 'half' };
const EXPIRED = {
  type: 'error',
  status: 401,
  error: { type: 'authentication_error', code: 'token_expired', message: 'expired', param: null },
};
const reply = (...events: readonly JsonObject[]) => ({ kind: 'reply' as const, status: 200, headers: {}, body: { events } });

for (const path of [NATIVE_SOCKET, PUBLIC_SOCKET]) {
  test(`[Q3] a credential that ${path} refuses after visible output does not cause the turn to be sent again`, async (context) => {
    const gate = await withLogin(context);
    gate.upstream.next('north', reply(DELTA, EXPIRED));
    const { text } = await gate.send(path, { body: turnBody('hi') });
    assert.equal(text.match(/^event: response\.output_text\.delta/gm)?.length, 1, text);
    assert.ok(!text.includes('response.completed') && text.includes('error'), text);
    assert.equal(gate.upstream.turns().length, 1);

    gate.upstream.next('north', reply(DELTA, EXPIRED));
    using socket = await connect(gate, path);
    const frames = await socket.turn(frameOf('hi'));
    assert.deepEqual([frames.at(-1)?.type, frames.at(-1)?.status], ['error', 502]);
    assert.equal(gate.upstream.turns().length, 2);
    assert.equal(typesOf(await socket.turn(frameOf('more'))).at(-1), 'response.completed', 'renewed for the next turn');
    assert.equal(socket.frames.filter(({ type }) => type === 'error').length, 1);
  });

  test(`[Q5] one that ${path} refuses before any output is renewed, and the turn is sent again, unseen`, async (context) => {
    const gate = await withLogin(context);
    gate.upstream.next('north', reply(EXPIRED));
    const { status, text } = await gate.send(path, { body: turnBody('hi') });
    assert.ok(status === 200 && text.includes('response.completed') && !text.includes('token_expired'), text);
    gate.upstream.next('north', reply(EXPIRED));
    using socket = await connect(gate, path);
    const frames = await socket.turn(frameOf('hi'));
    assert.ok(typesOf(frames).at(-1) === 'response.completed' && !typesOf(frames).includes('error'));
    assert.equal(gate.upstream.turns().length, 4);
  });
}

test('an account’s error that repeats the token of its attempt is redacted, also if the token was renewed before the error came', async (context) => {
  const clock = new ShiftedClock();
  const gate = await withLogin(context, clock);
  const send = () => gate.send(NATIVE_SOCKET, { body: turnBody('hi') });
  gate.upstream.loginOf('north').expire();
  await send();
  const token = gate.upstream.turns().at(-1)?.headers.authorization?.replace('Bearer ', '') ?? '';
  gate.upstream.clear();
  const error = { message: `the token ${token} may not do that`, code: 'bad_request', type: 'invalid_request_error', param: null };
  gate.upstream.next('north', [
    { kind: 'reply', status: 400, headers: {}, body: { json: { error } } },
    { kind: 'stall', at: 'before-headers' },
  ]);
  const refused = send();
  await gate.upstream.arrived(1, 'north');
  clock.setAhead(3_400_000);
  await send();
  await until('the refresh', () => (gate.upstream.requests('north').some(({ path }) => path === '/oauth/token') ? true : undefined));
  gate.upstream.release('north');
  const { status, text } = await refused;
  assert.equal(status, 400);
  assert.ok(text.includes('may not do that') && !text.includes(token), text);
});

test('[Q18] a turn whose client leaves while its account logs in was not sent: it has no attempt, and counts no usage', async (context) => {
  const clock = new ShiftedClock();
  const gate = await withLogin(context, clock);
  gate.upstream.loginOf('north').expire();
  assert.equal((await gate.send(PUBLIC_SOCKET, { body: turnBody('hi') })).status, 200);
  const [before] = await gate.usageRows();
  clock.setAhead(4_000_000);
  const tokens = { access_token: 'at-2', refresh_token: 'rt-2', expires_in: 3_600 };
  const answer = { kind: 'reply', status: 200, headers: {}, body: { json: tokens } } as const;
  gate.upstream.nextOn('north', '/oauth/token', [answer, { kind: 'stall', at: 'before-headers' }]);
  const socket = await connect(gate, PUBLIC_SOCKET);
  socket.send({ type: 'response.create', ...frameOf('hi') });
  await gate.upstream.stalled('north');
  socket.terminate();
  await until('the end of the websocket', () => gate.websockets === 0 || undefined);
  gate.upstream.release();
  const row = await until('its row', async () => (await gate.rows()).find(({ status }) => status === 499));
  assert.deepEqual([row.input_tokens, row.output_tokens, row.tokens_estimated], [null, null, false]);
  assert.deepEqual(await gate.attempts(row.id), []);
  assert.equal(gate.upstream.turns().length, 2, 'the first turn, and its second attempt');
  assert.deepEqual(await gate.usageRows(), [before]);
});
