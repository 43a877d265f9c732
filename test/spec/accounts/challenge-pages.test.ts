// The challenge page of a network's guard is never passed on, does not refuse the credential, and is a fault only of the path that it
// answered (RB3, RB4).
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { challengePage } from '../../../proxy/rehearsal/account/simulated-catalog.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { frameOf, NATIVE_SOCKET, PUBLIC_SOCKET, typesOf } from '../../support/native-frames.ts';
import type { Script } from '../../support/rehearsal.ts';
import { turnBody } from '../../support/rehearsal-replies.ts';
import { audioForm } from '../../support/stages/audio.ts';
import { BACKEND_MODELS, reread } from '../../support/stages/model-lists.ts';
import { connect } from '../../support/websocket.ts';

const { status, headers, body } = challengePage();
const html = body.kind === 'bytes' ? body.bytes.toString() : '';
const PAGE: Script = { kind: 'reply', status, headers, body: { text: html } };

const clock = new ShiftedClock();
let ahead = 1_000_000;
let gate: TestGateway;
before(async () => {
  gate = await startGateway({ clock });
});
after(() => gate.close());
beforeEach(() => gate.reset());

const transcription = (path: string): Promise<Response> =>
  fetch(gate.url + path, { method: 'POST', body: audioForm(), headers: { authorization: 'Bearer pg-test-key' } });

const ROUTES: Readonly<Record<string, () => Promise<{ readonly status: number; readonly text: string }>>> = {
  'POST /backend-api/agent/responses': () => gate.send('/backend-api/agent/responses', { body: turnBody('hi') }),
  'POST /v1/responses': () => gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } }),
  'POST /v1/responses, streamed': () => gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi', stream: true } }),
  'POST /v1/chat/completions': () =>
    gate.send('/v1/chat/completions', { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }] } }),
};

for (const [name, send] of Object.entries(ROUTES)) {
  test(`[RB3] ${name}: another account is asked, and the page reaches no client`, async () => {
    gate.upstream.next('north', PAGE);
    const reply = await send();
    assert.equal(reply.status, 200, reply.text);
    assert.deepEqual(
      gate.upstream.turns().map(({ account }) => account),
      ['north', 'south'],
    );
    assert.ok(!reply.text.includes('Just a moment'));
    assert.equal(gate.account('north').status, 'active');
    assert.equal(gate.account('north').models['(responses)']?.cause, 'challenge_page');
    assert.equal(gate.account('north').cooldown, undefined, 'the account as a whole is in order');
  });

  test(`[RB3] ${name}: where every account gets the page, the client gets our 502`, async () => {
    for (const account of ['north', 'south']) gate.upstream.next(account, PAGE);
    const reply = await send();
    assert.equal(reply.status, 502, reply.text);
    assert.equal(JSON.parse(reply.text).error.code, 'upstream_error');
    assert.ok(!/just a moment|cloudflare|<html/i.test(reply.text));
  });
}

test('[RB3] the path cools for all its models, other paths of the account go on, and a probe opens it again', async () => {
  gate.upstream.next('north', PAGE);
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  await gate.send('/v1/responses', { body: { model: 'model-mini', input: 'hi' } });
  assert.deepEqual(
    gate.upstream.turns().map(({ account }) => account),
    ['north', 'south', 'south'],
  );
  const image = { body: { model: 'image-model', prompt: 'a house' } };
  assert.equal((await gate.send('/backend-api/agent/images/generations', image)).status, 200);
  assert.equal(gate.upstream.turns().at(-1)?.account, 'north', 'images are another path');
  clock.setAhead(11_000);
  await gate.send('/v1/responses', { body: { model: 'model-mini', input: 'hi' } });
  assert.equal(gate.upstream.turns().at(-1)?.account, 'north');
  assert.deepEqual(gate.account('north').models, {});
});

test('[RB4] a page on the transcription path leaves the account to turns', async () => {
  const path = '/backend-api/transcribe';
  gate.upstream.nextOn('north', path, PAGE);
  const reply = await gate.fetch('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  assert.equal(reply.status, 200);
  const heard = await transcription('/v1/audio/transcriptions');
  assert.ok(!(await heard.text()).includes('Just a moment'));
  assert.deepEqual(
    Object.keys(gate.account('north').models).filter((name) => name === '(responses)'),
    [],
  );
  gate.upstream.clear();
  await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
  assert.equal(gate.upstream.turns()[0]?.account, 'north');
});

for (const [name, path] of [
  ['native', NATIVE_SOCKET],
  ['public', PUBLIC_SOCKET],
] as const) {
  test(`[RB3] an upgrade that gets the page: the turn of a ${name} websocket goes over HTTP, at the same account`, async () => {
    gate.upstream.nextUpgrade('north', PAGE);
    using socket = await connect(gate, path);
    const frames = await socket.turn(frameOf('hi'));
    assert.equal(typesOf(frames).at(-1), 'response.completed', JSON.stringify(frames.at(-1)));
    assert.deepEqual(
      gate.upstream.turns().map(({ account, method }) => `${account} ${method}`),
      ['north POST'],
    );
    assert.deepEqual(gate.account('north').models, {});
    assert.ok(!JSON.stringify(frames).includes('Just a moment'));
    ahead += 400_000;
    clock.setAhead(ahead);
  });
}

test('[RB3] own reads that get the page: the list stays, and the state names the page and no refused credential', async () => {
  await reread(gate, { north: PAGE, south: PAGE });
  const status = (await (await fetch(`${gate.adminUrl}/api/status`)).json()) as { catalogs: { failure?: string; models: number }[] };
  assert.deepEqual(
    status.catalogs.map(({ failure, models }) => [failure, models]),
    [
      ['challenge_page', 3],
      ['challenge_page', 3],
    ],
  );
  assert.equal(gate.account('north').status, 'active');
  assert.equal((await gate.send(BACKEND_MODELS)).json.models.length, 3);
});

const REFUSALS: readonly (readonly [string, Script])[] = [
  ['a 403 in JSON', 'refuse 403'],
  ['a 401 as a page', { kind: 'reply', status: 401, headers: { 'content-type': 'text/html' }, body: { text: '<html></html>' } }],
];
for (const [name, script] of REFUSALS) {
  test(`[RB3] ${name} is no challenge page: it blames the account`, async () => {
    gate.upstream.next('north', script);
    await gate.send('/v1/responses', { body: { model: 'model-a', input: 'hi' } });
    const { models, cooldown, status: health } = gate.account('north');
    assert.deepEqual(models, {});
    assert.ok(cooldown !== undefined || health === 'reauth_required');
  });
}
