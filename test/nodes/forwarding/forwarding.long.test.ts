// A forwarded websocket whose client sends early, much or malformed frames, or does not read (Q34, Q28).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turnFrame, typesOf, userMessage } from '../../support/native-frames.ts';
import { startNodes } from '../../support/nodes/nodes.ts';
import { TcpRelay } from '../../support/nodes/tcp-relay.ts';
import { dropped, interrupted, openSession, QUESTION, turnsAndRetries, wholeTurn } from '../../support/stages/interrupted-turns.ts';
import { until } from '../../support/until.ts';
import { completed, errorOf, forwarded, unread } from './forwarded.ts';

test('[Q28] a malformed frame on a forwarded websocket is an error frame, and the websocket stays open', async () => {
  await using at = await forwarded();
  const { a, socket } = at;
  await completed(a, socket);
  socket.send('{"type": "response.create", ');
  assert.deepEqual(errorOf([await socket.next()]), [400, 'invalid_request']);
  assert.equal(typesOf(await socket.turn(turnFrame('t2', [userMessage('more')]))).at(-1), 'response.completed');
});

test('[Q28] frames that come before the owner has answered are forwarded in their order', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  for (let i = 0; i < 5; i++) socket.send(turnFrame(`more ${i}`, [userMessage(`turn ${i}`)]));
  a.upstream.release('north');
  assert.deepEqual(typesOf(await socket.rest()), wholeTurn);
  for (let i = 0; i < 5; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  const texts = a.upstream.turns().map(({ json }) => /turn \d/.exec(JSON.stringify(json))?.[0]);
  assert.deepEqual(texts, [undefined, ...Array.from({ length: 5 }, (_, i) => `turn ${i}`)]);
  const { turns, retries } = await turnsAndRetries(a);
  assert.deepEqual([turns.length, retries.length], [6, 1]);
});

test('[Q34] a forwarded client that leaves while it does not read detaches its turn at once', async () => {
  await using at = await forwarded();
  const { a, socket } = at;
  await completed(a, socket);
  await unread(at);
  socket.terminate();
  // The client sent more than is kept, so its turn ends when the client is lost.
  await until('its row', async () => ((await a.rows()).at(-1)?.outcome === 'client_gone' ? true : undefined));
});

test('[Q34] a client that sends faster than the owner reads is paused, and loses nothing', async () => {
  await using nodes = await startNodes(['a', 'b']);
  const { a, b } = nodes;
  await dropped(a, await interrupted(a, 4));
  await using network = await TcpRelay.start((await nodes.owned())[0]?.address ?? '');
  await nodes.moveOwners(network.url);
  using socket = await openSession(b);
  socket.send(turnFrame('t1', QUESTION));
  await until('the replay', () => (socket.frames.length >= 5 ? true : undefined));
  network.freeze();
  const long = 'word '.repeat(800_000);
  for (let i = 0; i < 7; i++) socket.send(turnFrame(`more ${i}`, [userMessage(`turn ${i} ${long}`)]));
  let held = 0;
  let unchanged = 0;
  await until('a standstill', () => {
    unchanged = b.heldBytes === held ? unchanged + 1 : 0;
    held = b.heldBytes;
    return held > 0 && unchanged > 40 ? true : undefined;
  });
  assert.ok(held > 1_048_576 && held < 6_000_000, `${held} bytes are held`);
  network.thaw();
  a.upstream.release('north');
  for (let i = 0; i < 8; i++) assert.equal(typesOf(await socket.rest()).at(-1), 'response.completed');
  const texts = a.upstream.turns().map(({ json }) => /turn \d/.exec(JSON.stringify(json))?.[0]);
  assert.deepEqual(texts, [undefined, ...Array.from({ length: 7 }, (_, i) => `turn ${i}`)]);
});
