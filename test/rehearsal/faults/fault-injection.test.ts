// Each fault, over real sockets.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { ManualClock } from '../../support/clocks/manual-clock.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { ask, at, countedEvents, eventsOf, itemsOf, raw, send, typesOf } from '../../support/rehearsal-client.ts';
import { replyBytes, replyEvents, replyJson, turnBody } from '../../support/rehearsal-replies.ts';

const clock = new ManualClock();
const upstream = await startUpstream({ accounts: ['north'], clock, manners: { streamedUnstoredLists: false } });
after(() => upstream.close());
beforeEach(() => upstream.clear());
const north = upstream.urlOf('north');
const lastChunk = '0\r\n\r\n';
const json = turnBody('hello', { stream: false });

test('refuse answers any status, in the shape of a provider', async () => {
  upstream.next('north', 'refuse 503', 'refuse 429 rate_limit_exceeded retry 7', 'refuse 418 teapot');
  const overloaded = await ask(north);
  assert.equal(overloaded.status, 503);
  assert.equal(at(overloaded.json, 'error', 'code'), 'server_is_overloaded');
  assert.deepEqual(Object.keys(at(overloaded.json, 'error') as object), ['message', 'type', 'code', 'param']);
  assert.ok(overloaded.headers.get('x-request-id'));
  const limited = await ask(north);
  assert.equal(limited.status, 429);
  assert.equal(limited.headers.get('retry-after'), '7');
  assert.equal(at((await ask(north)).json, 'error', 'code'), 'teapot');
  assert.equal((await ask(north)).status, 200);
});

test('a refusal for quota states the reset time', async () => {
  upstream.next('north', 'refuse 429 usage_limit_reached resets 3600');
  const error = at((await ask(north)).json, 'error');
  assert.equal(at(error, 'type'), 'usage_limit_reached');
  assert.equal(at(error, 'resets_at'), clock.now() / 1000 + 3600);
  assert.equal(at(error, 'resets_in_seconds'), 3600);
});

test('a scripted reply is sent exactly', async () => {
  upstream.next('north', replyJson({ a: 1 }, { status: 202, headers: { 'x-mine': 'yes' } }), replyBytes('data: x\n\n'));
  const answer = await ask(north);
  assert.deepEqual(
    [answer.status, answer.text, answer.headers.get('x-mine'), answer.headers.get('openai-model')],
    [202, '{"a":1}', 'yes', null],
  );
  const bytes = await raw(north);
  assert.match(bytes.text, /content-type: text\/event-stream[\s\S]*transfer-encoding: chunked[\s\S]*9\r\ndata: x\n\n\r\n0\r\n\r\n$/i);
  upstream.next('north', replyEvents([{ type: 'response.created' }, 'no object', { type: 'response.completed' }]));
  assert.equal(
    (await ask(north)).text,
    'event: response.created\ndata: {"type":"response.created"}\n\ndata: "no object"\n\nevent: response.completed\ndata: {"type":"response.completed"}\n\n',
  );
});

test('refuse inside a 200 comes after the lifecycle events, or first of all', async () => {
  upstream.next('north', 'refuse inside', 'refuse inside rate_limit_exceeded as error', 'refuse inside as error after 0 events');
  const failed = await ask(north);
  assert.equal(failed.status, 200);
  assert.deepEqual(typesOf(failed.events), ['response.created', 'response.in_progress', 'response.failed']);
  assert.equal(at(failed.events[2], 'response', 'error', 'code'), 'server_is_overloaded');
  assert.equal(at(failed.events[2], 'response', 'id'), at(failed.events[0], 'response', 'id'));
  assert.equal(failed.events[2]?.sequence_number, 2);
  const error = (await ask(north)).events[2];
  assert.deepEqual([error?.type, at(error, 'error', 'code')], ['error', 'rate_limit_exceeded']);
  assert.deepEqual(typesOf((await ask(north)).events), ['error']);
  upstream.next('north', 'refuse inside');
  const collected = await ask(north, json);
  assert.deepEqual([collected.status, at(collected.json, 'status'), at(collected.json, 'output', 'length')], [200, 'failed', 0]);
});

test('cut after N events delivers exactly those and no final chunk', async () => {
  for (const count of [0, 1, 3, 8]) {
    upstream.next('north', `cut after ${count} events`);
    const { text, how } = await raw(north);
    assert.equal(countedEvents(eventsOf(text)).length, count);
    assert.equal(how, 'end');
    assert.ok(!text.endsWith(lastChunk));
  }
});

test('cut past the last event omits the final chunk only', async () => {
  upstream.next('north', 'cut after 9999 events', 'cut after 999999 bytes');
  for (let i = 0; i < 2; i += 1) {
    const { text } = await raw(north);
    assert.equal(eventsOf(text).at(-1)?.type, 'response.completed');
    assert.ok(!text.endsWith(lastChunk));
  }
});

test('cut after N bytes counts only the body', async () => {
  const whole = await ask(north, json);
  for (const count of [1, 100, whole.text.length - 1]) {
    upstream.next('north', `cut after ${count} bytes`);
    const { text } = await raw(north, json);
    assert.equal(text.slice(text.indexOf('\r\n\r\n') + 4).length, count);
  }
  upstream.next('north', 'cut after 200 bytes');
  const body = (await raw(north)).text;
  assert.match(body, /\r\n\r\nc8\r\nevent: response\.created/);
});

test('cut and reset before the headers send nothing; after them, only the head', async () => {
  upstream.next('north', 'cut before headers', 'cut after headers');
  assert.deepEqual(await raw(north), { text: '', how: 'end' });
  assert.match((await raw(north)).text, /^HTTP\/1\.1 200 OK[\s\S]*\r\n\r\n$/);
  upstream.next('north', 'reset before headers', 'reset after headers', 'reset after 2 events');
  assert.deepEqual(await raw(north), { text: '', how: 'reset' });
  assert.deepEqual(await raw(north).then(({ text, how }) => [text.endsWith('\r\n\r\n'), how]), [true, 'reset']);
  assert.deepEqual(await raw(north).then(({ text, how }) => [eventsOf(text).length, how]), [2, 'reset']);
});

test('a stall before the headers lasts until it is released', async () => {
  upstream.next('north', 'stall before headers');
  let answered = false;
  const answer = ask(north).finally(() => {
    answered = true;
  });
  await upstream.stalled('north');
  assert.equal(answered, false);
  upstream.release('north');
  assert.equal((await answer).events.at(-1)?.type, 'response.completed');
});

test('a stall after the headers or after N events sends everything before it', async () => {
  upstream.next('north', 'stall after headers', 'stall after 2 events');
  const head = await send(north);
  assert.equal(head.status, 200);
  await upstream.stalled('north');
  upstream.release();
  await head.text();
  const response = await send(north);
  const reader = response.body?.getReader();
  await upstream.stalled('north');
  let seen = '';
  while (eventsOf(seen).length < 2) seen += Buffer.from((await reader?.read())?.value ?? []).toString();
  assert.deepEqual(typesOf(eventsOf(seen)), ['response.created', 'response.in_progress']);
  upstream.release();
  await reader?.cancel();
});

test('a stall with a time, and a pace, use the clock', async () => {
  upstream.next('north', 'stall before headers for 500 ms', 'pace 20');
  const answer = ask(north);
  await clock.waiting();
  await clock.advance(500);
  assert.equal((await answer).status, 200);
  let finished = false;
  const paced = ask(north).finally(() => {
    finished = true;
  });
  while (!finished) {
    await Promise.race([clock.waiting(), paced]);
    await clock.advance(20);
  }
  assert.equal((await paced).events.at(-1)?.type, 'response.completed');
});

test('a malformed event is invalid JSON, and the others are valid', async () => {
  upstream.next('north', 'malformed event', 'malformed event 1', 'malformed event');
  const third = countedEvents((await ask(north)).events);
  assert.deepEqual(third.map((event) => 'malformed' in event).slice(0, 4), [false, false, true, false]);
  assert.ok('malformed' in ((await ask(north)).events[0] ?? {}));
  assert.equal((await ask(north, json)).json, undefined);
});

test('an empty output keeps the items in the stream', async () => {
  upstream.next('north', 'empty output', 'empty output');
  const { events } = await ask(north);
  assert.deepEqual(at(events.at(-1), 'response', 'output'), []);
  assert.ok(typesOf(events).includes('response.output_item.done'));
  assert.notEqual(at(events.at(-1), 'response', 'usage'), null);
  assert.deepEqual(at((await ask(north, json)).json, 'output'), []);
});

test('no terminal ends cleanly before the terminal event', async () => {
  upstream.next('north', 'no terminal', 'no terminal');
  const { text, how } = await raw(north);
  assert.deepEqual([eventsOf(text).at(-1)?.type, how], ['response.output_item.done', 'end']);
  assert.ok(text.endsWith(lastChunk));
  assert.equal(at((await ask(north, json)).json, 'status'), 'in_progress');
});

test('CR-only and CRLF framing use no other line end', async () => {
  const plain = await ask(north);
  assert.doesNotMatch(plain.text, /\r/);
  upstream.next('north', 'cr framing', 'crlf framing');
  const cr = (await ask(north)).text;
  assert.doesNotMatch(cr, /\n/);
  assert.equal(eventsOf(cr).length, plain.events.length);
  const crlf = (await ask(north)).text;
  assert.doesNotMatch(crlf.replaceAll('\r\n', ''), /[\r\n]/);
  assert.equal(eventsOf(crlf).length, plain.events.length);
});

test('a drip sends the same stream in single bytes', async () => {
  upstream.next('north', 'drip', 'drip 7 bytes');
  const { text } = await raw(north, turnBody('say: hé'));
  assert.match(text, /\r\n\r\n1\r\ne\r\n1\r\nv\r\n1\r\ne\r\n/);
  assert.equal(at(itemsOf((await ask(north, turnBody('say: hé'))).events), 1, 'content', 0, 'text'), 'hé');
});

test('faults combine', async () => {
  upstream.next('north', 'cr framing + cut after 3 events + drip', 'refuse 503 + drip', 'refuse inside + reset after 3 events');
  const both = await raw(north);
  const body = both.text.slice(both.text.indexOf('\r\n\r\n') + 4).replaceAll(/[0-9a-f]+\r\n([\s\S])\r\n/g, '$1');
  assert.equal(countedEvents(eventsOf(body)).length, 3);
  assert.doesNotMatch(body, /\n/);
  assert.equal((await ask(north)).status, 503);
  assert.deepEqual(await raw(north).then(({ text, how }) => [eventsOf(text).at(-1)?.type, how]), ['response.failed', 'reset']);
});

test('a large stream meets backpressure and arrives whole', async () => {
  const { events } = await ask(north, turnBody('write 20000 words'));
  assert.equal(typesOf(events).filter((type) => type === 'response.output_text.delta').length, 20_000);
});

test('a line of the last message asks for faults, whatever instructions follow it; metadata has precedence', async () => {
  const body = turnBody('Tell me.\n rehearse: refuse 418 teapot');
  assert.equal((await ask(north, body)).status, 418);
  assert.equal((await ask(north, turnBody('rehearse: south: refuse 418'))).status, 200);
  assert.equal((await ask(north, { ...body, metadata: { rehearse: 'refuse 503' } })).status, 503);
  const call = { type: 'function_call', call_id: 'call_1', name: 'look_up', arguments: '{}' };
  const output = { type: 'function_call_output', call_id: 'call_1', output: 'known' };
  assert.equal((await ask(north, { ...body, input: [...(body.input as readonly JsonObject[]), call, output] })).status, 200);
  const env = { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'The system is Linux.' }] };
  assert.equal((await ask(north, { ...body, input: [...(body.input as readonly JsonObject[]), env] })).status, 418);
  const unread = await ask(north, turnBody('rehearse: explode'));
  assert.deepEqual(
    [unread.status, at(unread.json, 'error', 'code'), at(unread.json, 'error', 'param')],
    // The request has no metadata, so no member of it is named.
    [400, 'invalid_rehearsal', null],
  );
});
