// The forms that a simulated Chat account gives to its replies, and its errors.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { type REPLY_FORMS, STREAM_FORMS } from '../../../proxy/rehearsal/faults/reply-forms.ts';
import { asList, isObject, type Json, type JsonObject } from '../../../proxy/turn/json/json.ts';
import type { Quirks } from '../../../proxy/turn/provider/quirks.ts';
import { startUpstream } from '../../support/rehearsal.ts';
import { at, eventsOf, type Heard, heard, send } from '../../support/rehearsal-client.ts';

const upstream = await startUpstream({ accounts: [{ id: 'box', api: { api: 'chat' } }] });
after(() => upstream.close());
beforeEach(() => upstream.clear());

const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }];
const CALLS = 'call the tool look with {"a":"one two"}\ncall the tool look with {"b":2}';
const body = (said: string, members: JsonObject = {}): JsonObject => ({
  model: 'model-a',
  messages: [{ role: 'user', content: said }],
  stream: true,
  stream_options: { include_usage: true },
  reasoning_effort: 'low',
  ...members,
});

async function chat(script: string, members?: JsonObject, said = CALLS): Promise<Heard> {
  upstream.next('box', script);
  return await heard(await send(upstream.urlOf('box'), body(said, { tools, ...members }), {}, '/chat/completions'));
}

const deltasOf = ({ events }: Heard): readonly JsonObject[] =>
  events.flatMap((chunk) => asList(chunk.choices).flatMap((choice) => (isObject(choice) && isObject(choice.delta) ? [choice.delta] : [])));
const callsOf = (reply: Heard): readonly JsonObject[] => deltasOf(reply).flatMap(({ tool_calls: calls }) => asList(calls).filter(isObject));
const finishOf = ({ events }: Heard): Json | undefined =>
  events.flatMap((chunk) => asList(chunk.choices).flatMap((choice) => (isObject(choice) ? (choice.finish_reason ?? []) : [])))[0];
const usages = ({ events }: Heard): readonly JsonObject[] => events.filter(({ usage }) => usage !== undefined);
const argumentsOf = (reply: Heard, index: number): string =>
  callsOf(reply)
    .filter((call) => call.index === index)
    .map((call) => String(at(call, 'function', 'arguments') ?? ''))
    .join('');
const textOf = (reply: Heard): string =>
  deltasOf(reply)
    .map(({ content }) => (typeof content === 'string' ? content : ''))
    .join('');

test('[AA89] without a fault: reasoning, two calls side by side in pieces, one finish reason, the usage alone, [DONE]', async () => {
  const reply = await chat('steady');
  assert.ok(reply.text.endsWith('data: [DONE]\n\n'));
  assert.equal(
    deltasOf(reply)
      .map(({ reasoning_content }) => reasoning_content ?? '')
      .join(''),
    'Rehearsing an answer.',
  );
  assert.deepEqual([argumentsOf(reply, 0), argumentsOf(reply, 1)], ['{"a":"one two"}', '{"b":2}']);
  assert.ok(callsOf(reply).length > 4);
  assert.equal(finishOf(reply), 'tool_calls');
  assert.deepEqual(
    usages(reply).map(({ choices }) => choices),
    [[]],
  );
});

/** For each form, its visible effect on the reply. */
const FORMS: Readonly<Record<keyof typeof REPLY_FORMS, (reply: Heard) => unknown>> = {
  'json answer': ({ json }) => at(json, 'object') === 'chat.completion',
  'no done': ({ text }) => !text.includes('[DONE]'),
  'no finish': (reply) => finishOf(reply) === undefined,
  'stop with calls': (reply) => finishOf(reply) === 'stop',
  'one index': (reply) => callsOf(reply).every(({ index }) => index === 0) && new Set(callsOf(reply).map(({ id }) => id)).size === 2,
  'no index': (reply) => callsOf(reply).every(({ index }) => index === undefined),
  'no call ids': (reply) => callsOf(reply).every(({ id }) => id === undefined),
  'long call ids': (reply) => callsOf(reply)[0]?.id?.toString().length === 80,
  'null arguments': (reply) => callsOf(reply).length === 2 && callsOf(reply).every((call) => at(call, 'function', 'arguments') === null),
  'no arguments': (reply) => callsOf(reply).every((call) => at(call, 'function', 'arguments') === undefined),
  'object arguments': (reply) => at(callsOf(reply)[0], 'function', 'arguments', 'a') === 'one two',
  'whole arguments': (reply) => callsOf(reply).length === 2 && argumentsOf(reply, 0) === '{"a":"one two"}',
  'repeated names': (reply) => callsOf(reply).every((call) => at(call, 'function', 'name') === 'look'),
  'empty names': (reply) => callsOf(reply).some((call) => at(call, 'function', 'name') === ''),
  'interleaved calls': (reply) =>
    callsOf(reply)
      .slice(0, 3)
      .map(({ index }) => index)
      .join() === '0,1,0' && argumentsOf(reply, 1) === '{"b":2}',
  'legacy call': (reply) =>
    deltasOf(reply).some(({ function_call: call }) => isObject(call) && call.name === 'look') && finishOf(reply) === 'function_call',
  'opaque calls': (reply) => at(callsOf(reply)[0], 'extra_content', 'provider', 'thought_signature') !== undefined,
  'no usage': (reply) => usages(reply).length === 0,
  'usage beside finish': (reply) => at(usages(reply)[0], 'choices', 0, 'finish_reason') === 'tool_calls',
  'usage in groq': ({ events }) => events.some((chunk) => at(chunk, 'x_groq', 'usage', 'total_tokens') !== undefined),
  'zero usage': (reply) => at(usages(reply)[0], 'usage', 'completion_tokens') === 0,
  'null choices': (reply) => usages(reply)[0]?.choices === null,
  'no choices': (reply) => usages(reply)[0]?.choices === undefined,
  'filter chunk': ({ events }) => events[0]?.prompt_filter_results !== undefined && asList(events[0].choices).length === 0,
  'list content': (reply) =>
    at(
      deltasOf(reply).find(({ content }) => Array.isArray(content)),
      'content',
      0,
      'type',
    ) === 'text',
  'late reasoning': (reply) => deltasOf(reply).findLast((delta) => Object.keys(delta).length > 0)?.reasoning_content !== undefined,
  citations: (reply) => deltasOf(reply).some(({ annotations }) => at(annotations, 0, 'type') === 'url_citation'),
};

for (const [form, isSeen] of Object.entries(FORMS)) {
  test(`[AA89] ${form}`, async () => {
    const speaks = form === 'list content' || form === 'citations';
    const reply = await chat(form, {}, speaks ? 'say: some words' : CALLS);
    assert.ok(isSeen(reply), reply.text);
    const ordinary = await chat('steady', {}, speaks ? 'say: some words' : CALLS);
    assert.ok(!isSeen(ordinary), 'without the fault');
  });
}

const SPELLINGS: Readonly<Record<string, (delta: JsonObject) => unknown>> = {
  reasoning_content: ({ reasoning_content: text }) => text,
  reasoning: ({ reasoning: text, reasoning_details: details }) => (details === undefined ? text : undefined),
  thinking: ({ thinking: text }) => text,
  details: ({ reasoning_details: details }) => at(details, 0, 'text'),
  parts: ({ content }) => at(content, 0, 'thinking', 0, 'text'),
};

test('[AA89] each spelling of reasoning', async () => {
  for (const [spelling, read] of Object.entries(SPELLINGS)) {
    const reply = await chat(`reasoning as ${spelling}`, {}, 'think: a thought\nsay: hello');
    assert.equal(
      deltasOf(reply)
        .map((delta) => read(delta) ?? '')
        .join(''),
      'a thought',
      spelling,
    );
    assert.equal(textOf(reply), 'hello');
  }
  assert.equal(textOf(await chat('reasoning as tags', {}, 'think: a thought\nsay: hello')), '<think>a thought</think>hello');
});

test('[AA89] finish reasons, and what the words of a prompt make of them', async () => {
  assert.equal(finishOf(await chat('finish eos', {}, 'say: hello')), 'eos');
  assert.equal(finishOf(await chat('steady', { max_completion_tokens: 1 }, 'write 9 words')), 'length');
  assert.equal(finishOf(await chat('steady', {}, 'say: hello\nstop filtered')), 'content_filter');
  const refusal = await chat('steady', {}, 'decline');
  assert.match(
    deltasOf(refusal)
      .map(({ refusal: piece }) => piece ?? '')
      .join(''),
    /declines/,
  );
});

test('[AA89] forms of the stream', async () => {
  const steady = await chat('steady');
  const sizes = (reply: Heard): number => eventsOf(reply.text).length;
  for (const form of Object.keys(STREAM_FORMS)) {
    const reply = await chat(form);
    assert.notEqual(reply.text, steady.text, form);
    if (form === 'comments' || form === 'event ids') assert.equal(sizes(reply), sizes(steady), form);
  }
  assert.ok((await chat('byte order mark')).text.startsWith('data:'), 'fetch takes the mark away');
  assert.ok((await chat('split data')).text.includes('\ndata:  "id"'));
  assert.ok((await chat('no space')).text.startsWith('data:{'));
  assert.ok((await chat('cr framing')).text.includes('\r\r'));
});

test('[AA89] errors inside a 200, before and behind output', async () => {
  for (const [script, path] of [
    ['error chunk', ['error', 'code']],
    ['error chunk as object', ['code']],
    ['error chunk as event', ['error', 'code']],
    ['error chunk as choice', ['choices', 0, 'error', 'code']],
  ] as const) {
    const early = await chat(script);
    assert.deepEqual([early.status, early.events.length, at(early.events[0], ...path)], [200, 1, 502], script);
    const late = await chat(`${script.replace('chunk', 'chunk 429')} after 3 events`);
    assert.deepEqual([late.events.length, at(late.events.at(-1), ...path)], [4, 429], script);
    assert.ok(!late.text.includes('[DONE]'));
  }
  assert.equal(at((await chat('refuse inside')).events[0], 'error', 'code'), 503);
  assert.equal(
    at((await chat('error chunk insufficient_quota', { stream: false, stream_options: undefined })).json, 'error', 'code'),
    'insufficient_quota',
  );
});

test('[AA89] refusals of servers', async () => {
  const refused = async (script: string): Promise<unknown> => {
    const { status, json } = await chat(script);
    return [status, at(json, 'error', 'code'), at(json, 'error', 'type')];
  };
  assert.deepEqual(await refused('refuse 402'), [402, 'insufficient_balance', 'invalid_request_error']);
  assert.deepEqual(await refused('refuse 429'), [429, 'rate_limit_exceeded', 'rate_limit_error']);
  assert.deepEqual(await refused('refuse 429 insufficient_quota'), [429, 'insufficient_quota', 'insufficient_quota']);
  assert.deepEqual(await refused('refuse 498'), [498, 'capacity_exceeded', 'invalid_request_error']);
  assert.deepEqual(await refused('refuse 529'), [529, 'overloaded_error', 'server_error']);
  assert.deepEqual(await refused('loading'), [503, 503, 'unavailable_error']);
  assert.deepEqual(await refused('refuse 404 DeploymentNotFound'), [404, 'DeploymentNotFound', 'invalid_request_error']);
  const page = await chat('html 502');
  assert.deepEqual([page.status, page.headers.get('content-type')], [502, 'text/html; charset=utf-8']);
  assert.equal((await chat('html')).status, 200);
});

test('[AA89] rate headers are stated with each answer, and as a script says', async () => {
  const { headers } = await chat('rate tokens 0 of 1000 reset 6m0s');
  assert.deepEqual(
    ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}-tokens`)),
    ['1000', '0', '6m0s'],
  );
  assert.equal(headers.get('x-ratelimit-limit-requests'), '10000');
  const refused = await chat('refuse 429 retry ms 250 + rate requests -1 of 10');
  assert.deepEqual([refused.headers.get('retry-after-ms'), refused.headers.get('x-ratelimit-remaining-requests')], ['250', '-1']);
  assert.equal((await chat('refuse 429 retry 3')).headers.get('retry-after'), '3');
});

test('[AA89] a slow first byte, with and without comments', async () => {
  for (const script of ['slow first byte 20', 'slow first byte 20 ms with comments']) {
    const reply = await chat(script);
    assert.equal(finishOf(reply), 'tool_calls');
    assert.equal(reply.text.startsWith(': REHEARSAL'), script.endsWith('comments'));
  }
});

test('[AA89] a reply without output, without an end, and one that is malformed or cut', async () => {
  const empty = await chat('empty output');
  assert.deepEqual([textOf(empty), callsOf(empty).length, finishOf(empty)], ['', 0, 'tool_calls']);
  const open = await chat('no terminal');
  assert.deepEqual(
    [finishOf(open), usages(open).length, open.text.includes('[DONE]'), callsOf(open).length > 0],
    [undefined, 0, false, true],
  );
  assert.ok((await chat('malformed event 2')).events.some(({ malformed }) => malformed !== undefined));
  await assert.rejects(chat('cut after 3 events'));
});

test('[AA89] a line of the last message, or of the last result of a tool, is a script', async () => {
  const answer = async (messages: Json): Promise<number> => {
    const response = await send(upstream.urlOf('box'), { model: 'model-a', messages, tools }, {}, '/chat/completions');
    await response.text();
    return response.status;
  };
  const call = {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }],
  };
  const user = { role: 'user', content: 'hello\nrehearse: box: refuse 503' };
  assert.equal(await answer([user]), 503);
  assert.equal(await answer([user, call, { role: 'tool', tool_call_id: 'c', content: 'found' }]), 200);
  assert.equal(
    await answer([{ role: 'user', content: 'hi' }, call, { role: 'tool', tool_call_id: 'c', content: 'rehearse: refuse 402' }]),
    402,
  );
  assert.equal(await answer([{ role: 'user', content: 'rehearse: north: refuse 503' }]), 200);
});

test('[AA88] quirks change replies: think tags, details, ids of nine characters, usage, cost', async () => {
  const quirks: Partial<Quirks> = {
    think_tags: true,
    tool_ids: 'alnum9',
    usage_excludes_reasoning: true,
    cost_in_usage: true,
    stream_options: false,
  };
  await using other = await startUpstream({ accounts: [{ id: 'box', api: { api: 'chat', quirks } }] });
  const { stream_options: _, reasoning_effort: __, ...plain } = body(CALLS, { tools });
  const reply = await heard(await send(other.urlOf('box'), plain, {}, '/chat/completions'));
  assert.equal(textOf(reply), '<think>Rehearsing an answer.</think>');
  assert.match(String(callsOf(reply)[0]?.id), /^[a-z0-9]{9}$/);
  const usage = usages(reply)[0]?.usage as Record<string, number>;
  assert.equal((usage.total_tokens ?? 0) - (usage.prompt_tokens ?? 0) - (usage.completion_tokens ?? 0), 16);
  assert.ok((usage.cost ?? 0) > 0);
});
