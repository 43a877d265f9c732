// Ciphertext that an account did not make, over the wire: it goes back to its maker, or the turn is sent again without reasoning (Q10).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { frameOf } from '../../support/native-frames.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyEvents, replyJson } from '../../support/rehearsal-replies.ts';
import { NATIVE, outputOf, PUBLIC, Stage, user } from '../../support/stages/continuity.ts';
import { connect } from '../../support/websocket.ts';

let stage: Stage;
before(async () => {
  // These accounts have a compact path.
  stage = await Stage.set({ manners: { noCompactPath: false } });
});
after(() => stage.strike());
beforeEach(() => stage.clear());

/** Each turn's account, and the types of the items that it got. */
const arrived = () =>
  stage.gate.upstream.turns().map(({ account, json }) => {
    const { input } = json as { input: readonly JsonObject[] };
    return [account, ...input.map(({ type }) => type)].join(' ');
  });

const OF_NOBODY = { type: 'reasoning', summary: [], encrypted_content: 'gAAAA-of-nobody' };

test('reasoning that another account refuses goes back to the account that made it', async () => {
  const headers = { 'session-id': 'cipher-1' };
  const made = outputOf(await stage.turn());
  await stage.atSouth({ headers });
  const reply = await stage.turn({ headers, body: { input: [user('hello'), ...made, user('more')] } });
  assert.equal(reply.status, 200);
  assert.deepEqual(arrived(), ['south message reasoning message message', 'north message reasoning message message']);
  const row = await stage.lastRow();
  assert.deepEqual([row.retries, row.why?.reason, row.account], [1, 'ciphertext', 'NORTH']);
  stage.went();
  await stage.turn({ headers });
  assert.deepEqual(stage.went(), ['north'], 'its session went along');
});

test('where its maker cannot take it, reasoning is left out: with one resend, and for the rest of its session at once', async () => {
  const headers = { 'session-id': 'cipher-2' };
  const made = outputOf(await stage.turn({ headers }));
  stage.went();
  stage.gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
  const history = [user('hello'), ...made, user('more')];
  const reply = await stage.turn({ headers, body: { input: history } });
  assert.equal(reply.status, 200);
  // The refusal of north concerns the turn as a whole: north never saw that the ciphertext is its own.
  assert.deepEqual(arrived(), [
    'north message reasoning message message',
    'south message reasoning message message',
    'south message message message',
  ]);
  const attempts = await stage.gate.attempts((await stage.lastRow()).id);
  assert.deepEqual(
    attempts.map(({ account, cause, status }) => [account, cause, status]),
    [
      ['NORTH', 'first', 429],
      ['SOUTH', 'quota', 400],
      ['SOUTH', 'resend', 200],
    ],
  );
  stage.gate.upstream.clear();
  await stage.turn({ headers, body: { input: [...history, ...outputOf(reply), user('and more')] } });
  assert.deepEqual(arrived(), ['south message message message reasoning message message'], "its own stays, north's goes unasked");
});

test('reasoning of an unknown maker is left out', async () => {
  stage.gate.upstream.next('north', 'refuse 400 invalid_encrypted_content');
  const { status } = await stage.turn({ body: { input: [OF_NOBODY, user('more')] } });
  assert.deepEqual([status, ...arrived()], [200, 'north reasoning message', 'north message']);
});

test('a second refusal is final', async () => {
  stage.gate.upstream.next('north', 'refuse 400 invalid_encrypted_content', 'refuse 400 invalid_encrypted_content');
  const { status, json } = await stage.turn({ path: PUBLIC, body: { input: [OF_NOBODY, user('more')] } });
  assert.deepEqual([status, json.error.code], [400, 'invalid_encrypted_content']);
  assert.equal(arrived().length, 2);
});

for (const path of [NATIVE, PUBLIC]) {
  test(`a refusal inside a 200 is recovered too, while nothing was shown, on ${path}`, async () => {
    stage.gate.upstream.next('north', 'refuse inside invalid_encrypted_content');
    const reply = await stage.turn({ path, body: { stream: true, input: [OF_NOBODY, user('more')] } });
    assert.deepEqual([reply.status, ...arrived()], [200, 'north reasoning message', 'north message']);
    const types = eventsOf(reply.text).map(({ data }) => data.type);
    assert(!types.includes('response.failed') && types.includes('response.completed'), 'one clean answer');
    assert.equal(types.filter((type) => type === 'response.created').length, 1);
  });
}

/** The refusal of the real backend. */
const UNVERIFIED = {
  message: 'The encrypted content gAAA…ZQ== could not be verified.',
  type: 'invalid_request_error',
  param: null,
  code: 'invalid_encrypted_content',
};

for (const [name, path] of [
  ['native', NATIVE],
  ['public', PUBLIC],
] as const) {
  test(`[RB13] over HTTP a ${name} client gets one whole answer where an account cannot verify its reasoning: it is sent again without`, async () => {
    stage.gate.upstream.next('north', replyJson({ error: UNVERIFIED }, { status: 400 }));
    const reply = await stage.turn({ path, body: { input: [OF_NOBODY, user('more')] } });
    assert.deepEqual([reply.status, ...arrived()], [200, 'north reasoning message', 'north message']);
    assert.ok(!reply.text.includes('could not be verified'));
  });

  test(`[RB13] on a ${name} websocket ciphertext stays at its account, and a frame that refuses it is answered without reasoning`, async () => {
    const { gate } = stage;
    const headers = { 'session-id': `cipher-socket-${name}` };
    const made = outputOf(await stage.turn({ headers }));
    assert.ok(made.some(({ type }) => type === 'reasoning'));
    stage.clear();
    using socket = await connect(gate, path);
    const history = [user('hello'), ...made, user('more')];
    assert.equal((await socket.turn(frameOf('', { input: history }))).at(-1)?.type, 'response.completed');
    assert.deepEqual(arrived(), ['north message reasoning message message']);

    gate.upstream.clear();
    gate.upstream.next('north', replyEvents([{ type: 'error', status: 400, error: UNVERIFIED }]));
    const frames = await socket.turn(frameOf('', { input: [OF_NOBODY, user('again')] }));
    assert.equal(frames.at(-1)?.type, 'response.completed', JSON.stringify(frames.at(-1)));
    assert.deepEqual(arrived(), ['north reasoning message', 'north message']);
    assert.equal(gate.account('north').status, 'active');
  });
}

test('a compaction goes back to its maker, and where that cannot take it, the client has to restart [F8.2]', async () => {
  const headers = { 'session-id': 'cipher-3' };
  const [item] = outputOf(await stage.turn({ body: { input: [user('so much'), { type: 'compaction_trigger' }] } }));
  assert.equal(item?.type, 'compaction');
  await stage.atSouth({ headers });
  const input = [item, user('go on')];
  assert.equal((await stage.turn({ headers, body: { input } })).status, 200);
  assert.deepEqual(arrived(), ['south compaction message', 'north compaction message']);

  stage.gate.upstream.clear();
  stage.gate.upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
  const refused = await stage.turn({ headers, body: { input } });
  assert.deepEqual([refused.status, refused.json.error.code], [400, 'continuation_requires_restart']);
  assert.equal(refused.headers.get('x-agent-recovery'), 'restart_with_full_context');
  assert.deepEqual(arrived(), ['north compaction message', 'south compaction message']);
  const row = await stage.lastRow();
  assert.deepEqual([row.status, row.code, row.retries], [400, 'continuation_requires_restart', 1]);
});

const COMPACT = `${NATIVE}/compact`;

for (const [how, path, trigger] of [
  ['the compact route', COMPACT, []],
  ['an explicit compaction', PUBLIC, [{ type: 'compaction_trigger' }]],
] as const) {
  test(`${how} goes back to the maker of its history's reasoning, or continues without it [Q10]`, async () => {
    const made = outputOf(await stage.turn());
    stage.clear();
    stage.gate.upstream.next('north', 'refuse 503');
    const body = { input: [user('hello'), ...made, user('more'), ...trigger] };
    const reply = await stage.turn({ path, body });
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(arrived(), [
      'north message reasoning message message',
      'south message reasoning message message',
      'south message message message',
    ]);
  });

  test(`${how} that was refused inside its answer is not sent again [Q6]`, async () => {
    const refused = { status: 'failed', error: { code: 'invalid_encrypted_content', message: 'no' } };
    stage.gate.upstream.next('north', replyJson(refused));
    const { status, json } = await stage.turn({ path, body: { input: [OF_NOBODY, user('more'), ...trigger] } });
    assert.deepEqual([status, json.error.code, arrived().length], [400, 'invalid_encrypted_content', 1]);
  });
}

test('the health of the account whose ciphertext was refused, and of the account that refused it, does not change', async () => {
  const made = outputOf(await stage.turn());
  const headers = { 'session-id': 'cipher-4' };
  for (let again = 0; again < 4; again++) {
    await stage.atSouth({ headers });
    await stage.turn({ headers, body: { input: [...made, user('more')] } });
    stage.went();
  }
  const states = stage.gate.accounts().map(({ status }) => status);
  assert.deepEqual(states, ['active', 'active', 'active']);
});
