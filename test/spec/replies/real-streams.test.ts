// Streams in the forms of real agent backends, on every surface: without a type, an end mark or an output, and with keepalives.
import assert from 'node:assert/strict';
import { after, afterEach, describe, test } from 'node:test';
import type { Fault } from '../../../proxy/rehearsal/faults/fault.ts';
import { PNG } from '../../../proxy/rehearsal/model/simulated-image.ts';
import type { Json, JsonObject } from '../../../proxy/turn/json/json.ts';
import { ShiftedClock } from '../../support/clocks/shifted-clock.ts';
import { type Draft, type Reply, startGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { modelEntry, replyEvents } from '../../support/rehearsal-replies.ts';
import { CHAT, turnOn } from '../../support/turns/turn-paths.ts';
import { until } from '../../support/until.ts';
import { connect } from '../../support/websocket.ts';

const NATIVE = '/backend-api/agent/responses';
const COMPACT = '/backend-api/agent/responses/compact';
const PUBLIC = '/v1/responses';
const IMAGES = '/v1/images/generations';

const clock = new ShiftedClock();
const gate = await startGateway({
  clock,
  upstream: { accounts: ['north', 'south'], models: [modelEntry({ slug: 'model-a' })], strict: false },
  config: (draft: Draft) => {
    draft.pools[0].image_host_model = 'model-a';
    for (const account of draft.accounts) account.compact = 'trigger';
  },
});
after(() => gate.close());
afterEach(() => {
  gate.heal();
  gate.upstream.clear();
  // The retry budget of the Pool counts the last 10 s.
  clock.setAhead(11_000);
});

const framed = (events: readonly Json[]): string =>
  events.map((event) => `event: ${(event as JsonObject).type}\ndata: ${JSON.stringify(event)}\n\n`).join('');

/** Sends exactly these bytes with only these headers; with `open` the connection stays open until the test releases it. */
function bytes(text: string, { type, open = false }: { readonly type?: string; readonly open?: boolean } = {}): readonly Fault[] {
  const headers = { 'transfer-encoding': 'chunked', ...(type === undefined ? {} : { 'content-type': type }) };
  const reply = { kind: 'reply', status: 200, headers, body: { base64: Buffer.from(text).toString('base64') } } as const;
  return open ? [reply, { kind: 'stall', at: { bytes: Number.POSITIVE_INFINITY } }] : [reply];
}

const at = (sequence_number: number, type: string, members: JsonObject = {}): JsonObject => ({ type, sequence_number, ...members });
const RUNNING = { id: 'resp_1', object: 'response', status: 'in_progress', model: 'model-a', output: [] };
const USAGE = { input_tokens: 5, output_tokens: 3, total_tokens: 8 };
const ended = (output: readonly Json[], status = 'completed'): JsonObject => ({ ...RUNNING, status, output, usage: USAGE });
const said = (id: string, text: string): JsonObject => ({
  id,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
});
const CALL = { id: 'fc_1', type: 'function_call', status: 'completed', call_id: 'call_1', name: 'look', arguments: '{}' };
const IMAGE = { id: 'ig_1', type: 'image_generation_call', status: 'generating', result: 'aW1hZ2U=' };
const COMPACTION = { id: 'cmp_1', type: 'compaction', encrypted_content: 'opaque' };

/** The events of a turn whose items come already finished; `output` is that of its terminal event. */
const turnOf = (items: readonly JsonObject[], output: readonly Json[] = []): readonly JsonObject[] => [
  at(0, 'response.created', { response: RUNNING }),
  ...items.map((item, i) => at(i + 1, 'response.output_item.done', { output_index: i, item })),
  at(items.length + 1, 'response.completed', { response: ended(output) }),
];

interface Shown {
  readonly reply: Reply | undefined;
  readonly ok: boolean;
  readonly text: string;
}

interface ClientRoute {
  readonly name: string;
  readonly items: readonly JsonObject[];
  readonly ask: () => Promise<Shown>;
}

const overHttp = (path: string, body: JsonObject, textOf: (reply: Reply) => string) => async (): Promise<Shown> => {
  const reply = await gate.send(path, { body });
  return { reply, ok: reply.status === 200, text: reply.status === 200 ? textOf(reply) : reply.text };
};

const textIn = (response: JsonObject): string =>
  (response.output as readonly JsonObject[])
    .map((item) => (item.type === 'message' ? (item.content as readonly JsonObject[])[0]?.text : item.type))
    .join(' ');
const completedIn = (text: string): JsonObject => eventsOf(text).find(({ event }) => event === 'response.completed')?.data.response;
const itemsIn = (text: string): string =>
  textIn({ output: eventsOf(text).flatMap(({ event, data }) => (event === 'response.output_item.done' ? [data.item] : [])) });
const chunksIn = (text: string): string =>
  eventsOf(text)
    .map(({ data }) => data.choices?.[0]?.delta?.content ?? '')
    .join('');

const MESSAGES = [said('msg_1', 'Hello'), said('msg_2', 'there')];
const ROUTES: readonly ClientRoute[] = [
  { name: 'native stream', items: MESSAGES, ask: overHttp(NATIVE, turnOn(NATIVE, 'hi'), ({ text }) => itemsIn(text)) },
  { name: 'public stream', items: MESSAGES, ask: overHttp(PUBLIC, turnOn(PUBLIC, 'hi'), ({ text }) => textIn(completedIn(text))) },
  { name: 'public answer', items: MESSAGES, ask: overHttp(PUBLIC, turnOn(PUBLIC, 'hi', { stream: false }), ({ json }) => textIn(json)) },
  { name: 'chat stream', items: MESSAGES, ask: overHttp(CHAT, turnOn(CHAT, 'hi'), ({ text }) => chunksIn(text)) },
  {
    name: 'chat answer',
    items: MESSAGES,
    ask: overHttp(CHAT, turnOn(CHAT, 'hi', { stream: false }), ({ json }) => json.choices[0].message.content),
  },
  {
    name: 'native compaction',
    items: [COMPACTION],
    ask: overHttp(COMPACT, { model: 'model-a', input: turnOn(NATIVE, 'hi').input as Json }, ({ json }) => json.output[0].encrypted_content),
  },
  {
    name: 'public compaction',
    items: [COMPACTION],
    ask: overHttp(
      PUBLIC,
      turnOn(PUBLIC, 'hi', { stream: false, input: [{ role: 'user', content: 'hi' }, { type: 'compaction_trigger' }] }),
      ({ json }) => json.output[0].encrypted_content,
    ),
  },
  { name: 'image', items: [IMAGE], ask: overHttp(IMAGES, { model: 'gpt-image-1', prompt: 'a cat' }, ({ json }) => json.data[0].b64_json) },
];

/** What a client of each route shows of these items. */
const EXPECTED: Readonly<Record<string, string>> = {
  'native stream': 'Hello there',
  'public stream': 'Hello there',
  'public answer': 'Hello there',
  'chat stream': 'Hellothere',
  'chat answer': 'Hellothere',
  'native compaction': 'opaque',
  'public compaction': 'opaque',
  image: 'aW1hZ2U=',
};

const TYPES: readonly (string | undefined)[] = [undefined, 'text/event-stream; charset=utf-8', 'application/octet-stream', 'text/plain'];

describe('[RB16] a stream of any type, or of none', () => {
  for (const route of ROUTES) {
    for (const type of TYPES) {
      test(`[RB16] is read as events (${route.name}, ${type ?? 'no type'})`, async () => {
        gate.upstream.next('north', bytes(framed(turnOf(route.items)), type === undefined ? {} : { type }));
        const { reply, ok, text } = await route.ask();
        assert.deepEqual([ok, text], [true, EXPECTED[route.name]]);
        const shown = reply?.headers.get('content-type') ?? '';
        assert.match(shown, route.name.endsWith('stream') ? /^text\/event-stream/ : /^application\/json/);
        assert.equal(gate.upstream.turns().length, 1);
      });
    }

    test(`[RB16] ends with its terminal event, although the connection stays open (${route.name})`, async () => {
      gate.upstream.next('north', bytes(framed(turnOf(route.items)), { open: true }));
      const { ok, text, reply } = await route.ask();
      // The account still holds back its answer, so nothing waited for the end of the answer.
      assert.equal(gate.upstream.stalledNow('north'), 1);
      assert.deepEqual([ok, text], [true, EXPECTED[route.name]]);
      if (route.name === 'public stream' || route.name === 'chat stream') assert.match(reply?.text ?? '', /data: \[DONE\]\n\n$/);
      else assert.doesNotMatch(reply?.text ?? '', /\[DONE\]/);
    });
  }

  for (const [what, text, type] of [
    ['JSON without a type', JSON.stringify({ detail: 'Something else' }), undefined],
    ['JSON after white space', `\n  ${JSON.stringify({ error: { message: 'no', code: 'server_error' } })}`, undefined],
    ['HTML without a type', '<!doctype html><title>A page</title>', undefined],
    ['HTML', 'data: <html>', 'text/html; charset=utf-8'],
    ['JSON of a type of its own', '{"error":{"code":"server_error","message":"no"}}', 'application/problem+json'],
  ] as const) {
    for (const route of ROUTES.slice(0, 5)) {
      test(`[RB16] ${what} in a 200 is no stream, and reaches no client as one (${route.name})`, async () => {
        for (const account of ['north', 'south']) gate.upstream.next(account, bytes(text, type === undefined ? {} : { type }));
        const { reply } = await route.ask();
        assert.doesNotMatch(reply?.headers.get('content-type') ?? '', /event-stream|html/);
        assert.doesNotMatch(reply?.text ?? '', /A page|<html/);
      });
    }
  }

  test('[RB16] a whole answer without a type is a native answer', async () => {
    gate.upstream.next('north', bytes(JSON.stringify(ended([said('msg_1', 'Hello')]))));
    const { status, json, headers } = await gate.send(NATIVE, { body: turnOn(NATIVE, 'hi', { stream: false }) });
    assert.deepEqual([status, json.id, headers.get('content-type')], [200, 'resp_1', 'application/json']);
  });

  test('[RB16] [Q17] a stream without a single event is tried at another account', async () => {
    gate.upstream.next('north', bytes(''));
    const { status } = await gate.send(NATIVE, { body: turnOn(NATIVE, 'hi') });
    assert.deepEqual([status, gate.upstream.turns().map(({ account }) => account)], [200, ['north', 'south']]);
  });

  test('[RB16] a first byte that is late decides too', async () => {
    gate.upstream.next('north', [...bytes('{"error":{"code":"invalid_prompt","message":"Bad."}}'), { kind: 'drip', bytes: 1 }]);
    const { status, json } = await gate.send(PUBLIC, { body: turnOn(PUBLIC, 'hi') });
    assert.deepEqual([status, json.error.code], [400, 'invalid_prompt']);
  });

  test('[RB16] the connection of a complete reply carries the next turn, if it ends soon', async () => {
    gate.upstream.next('north', bytes(framed(turnOf(MESSAGES)), { open: true }));
    assert.equal((await gate.send(NATIVE, { body: turnOn(NATIVE, 'hi') })).status, 200);
    gate.upstream.release('north');
    const [first] = await gate.upstream.arrived(1);
    await until('the end of the answer', () => first?.closing);
    assert.equal(first?.closing, 'answered');
  });
});

describe('[RB36] the image tool of the host model', () => {
  test('[RB36] an image that still says `generating` is the answer, and a partial one never is', async () => {
    const partial = at(1, 'response.image_generation_call.partial_image', {
      item_id: 'ig_1',
      output_index: 0,
      partial_image_b64: 'cGFydA==',
    });
    const [created, ...rest] = turnOf([IMAGE]);
    gate.upstream.next('north', bytes(framed([created as JsonObject, partial, ...rest])));
    const { status, json } = await gate.send(IMAGES, { body: { model: 'gpt-image-1', prompt: 'a cat' } });
    assert.deepEqual([status, json.data[0].b64_json], [200, IMAGE.result]);
    gate.upstream.next('north', bytes(framed([created as JsonObject, partial, at(2, 'response.completed', { response: ended([]) })])));
    const failed = await gate.send(IMAGES, { body: { model: 'gpt-image-1', prompt: 'a cat' } });
    assert.deepEqual([failed.status, failed.json.error.code], [502, 'image_generation_failed']);
  });

  test('[RB36] the simulated provider answers so by default', async () => {
    const strict = await startGateway({
      upstream: { accounts: ['north'], models: [modelEntry({ slug: 'model-a' })] },
      config: (draft: Draft) => {
        draft.pools[0].image_host_model = 'model-a';
        draft.accounts[0].headers = { version: '0.200.0' };
      },
    });
    try {
      const { status, json } = await strict.send(IMAGES, { body: { model: 'gpt-image-1', prompt: 'a cat' } });
      assert.deepEqual([status, json.data[0].b64_json], [200, PNG]);
    } finally {
      await strict.close();
    }
  });
});

describe('[RB17] the output of the terminal event', () => {
  const ITEMS = [said('msg_1', 'Hello'), CALL, said('msg_2', 'there')];
  const ids = (response: JsonObject): readonly Json[] => (response.output as readonly JsonObject[]).map(({ id }) => id ?? null);
  const CASES: readonly (readonly [name: string, output: readonly Json[]])[] = [
    ['is empty', []],
    ['has the first item', ITEMS.slice(0, 1)],
    ['has the last item', ITEMS.slice(2)],
    ['has the items at both ends', [ITEMS[0] as JsonObject, ITEMS[2] as JsonObject]],
    ['is whole', ITEMS],
  ];
  for (const [name, output] of CASES) {
    for (const stream of [true, false]) {
      test(`[RB17] ${name}: a public ${stream ? 'stream' : 'answer'} has every item in order and once`, async () => {
        gate.upstream.next('north', bytes(framed(turnOf(ITEMS, output))));
        const { text, json } = await gate.send(PUBLIC, { body: turnOn(PUBLIC, 'hi', { stream }) });
        assert.deepEqual(ids(stream ? completedIn(text) : json), ['msg_1', 'fc_1', 'msg_2']);
      });
    }

    test(`[RB17] ${name}: a public websocket has every item in order and once`, async () => {
      gate.upstream.next('north', replyEvents(turnOf(ITEMS, output)));
      using socket = await connect(gate, PUBLIC);
      const frames = await socket.turn(turnOn(PUBLIC, 'hi'));
      assert.deepEqual(ids(frames.at(-1)?.response as JsonObject), ['msg_1', 'fc_1', 'msg_2']);
    });

    test(`[RB17] ${name}: a chat answer has the text and the call once`, async () => {
      gate.upstream.next('north', bytes(framed(turnOf(ITEMS, output))));
      const { json } = await gate.send(CHAT, { body: turnOn(CHAT, 'hi', { stream: false }) });
      const { content, tool_calls } = json.choices[0].message;
      assert.deepEqual([content, tool_calls.length], ['Hellothere', 1]);
    });
  }

  test('[RB17] items without an id are the same where their content is', async () => {
    const bare = ITEMS.map(({ id: _, ...item }) => item) as readonly JsonObject[];
    gate.upstream.next('north', bytes(framed(turnOf(bare, bare.slice(1, 2)))));
    const { json } = await gate.send(PUBLIC, { body: turnOn(PUBLIC, 'hi', { stream: false }) });
    assert.deepEqual(
      json.output.map(({ type }: JsonObject) => type),
      ['message', 'function_call', 'message'],
    );
  });

  for (const output of [null, undefined]) {
    test(`[RB17] is a list where the account states ${output}, because SDKs read it as one`, async () => {
      const { output: _, ...rest } = ended([]);
      const end = at(1, 'response.completed', { response: output === null ? { ...rest, output } : rest });
      const reply = bytes(framed([at(0, 'response.created', { response: RUNNING }), end]));
      for (const stream of [true, false]) {
        gate.upstream.next('north', reply);
        const { text, json } = await gate.send(PUBLIC, { body: turnOn(PUBLIC, 'hi', { stream }) });
        assert.deepEqual((stream ? completedIn(text) : json).output, []);
      }
    });
  }

  test('[RB17] events that come out of order are put in order', async () => {
    const [first, ...rest] = turnOf(ITEMS);
    const done = rest.slice(0, 3);
    gate.upstream.next('north', bytes(framed([first as JsonObject, ...done.toReversed(), ...rest.slice(3)])));
    const { json } = await gate.send(PUBLIC, { body: turnOn(PUBLIC, 'hi', { stream: false }) });
    assert.deepEqual(ids(json), ['msg_1', 'fc_1', 'msg_2']);
  });
});

describe('[RB18] keepalives as data events', () => {
  const keepalive = (n: number): JsonObject => at(n, 'keepalive');
  /** Adds keepalives before the first event, after it, between items and before the end. */
  const withKeepalives = (items: readonly JsonObject[]): readonly JsonObject[] => {
    const events = turnOf(items).flatMap((event, i, all) =>
      i + 1 === all.length ? [keepalive(0), event] : [keepalive(0), event, keepalive(0)],
    );
    return events.map((event, sequence_number) => ({ ...event, sequence_number }));
  };
  for (const route of ROUTES) {
    test(`[RB18] fail nothing (${route.name})`, async () => {
      gate.upstream.next('north', bytes(framed(withKeepalives(route.items))));
      const { ok, text } = await route.ask();
      assert.deepEqual([ok, text, gate.upstream.turns().length], [true, EXPECTED[route.name], 1]);
    });
  }

  test('[RB18] a native stream has them as they came', async () => {
    const text = framed(withKeepalives(MESSAGES));
    gate.upstream.next('north', bytes(text));
    assert.equal((await gate.send(NATIVE, { body: turnOn(NATIVE, 'hi') })).text, text);
  });

  test('[RB18] a public stream begins with response.created, passes later ones, and has no gap in its numbers', async () => {
    gate.upstream.next('north', bytes(framed(withKeepalives(MESSAGES))));
    const { text } = await gate.send(PUBLIC, { body: turnOn(PUBLIC, 'hi') });
    const events = eventsOf(text).slice(0, -1);
    assert.equal(events[0]?.event, 'response.created');
    assert.deepEqual(
      events.map(({ data }) => data.sequence_number),
      events.map((_, i) => i),
    );
    assert.ok(events.some(({ event }) => event === 'keepalive'));
  });

  for (const path of [NATIVE, PUBLIC]) {
    test(`[RB18] frames are not failed by them (${path})`, async () => {
      gate.upstream.next('north', replyEvents(withKeepalives(MESSAGES)));
      using socket = await connect(gate, path);
      const frames = await socket.turn(turnOn(path, 'hi'));
      assert.equal(frames.at(-1)?.type, 'response.completed');
    });
  }
});
