// An unreadable delta of the account: whole messages have the text of the finished item; streams get the rest of the text, or an error
// (AM16, AM54, AM58).
import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { JsonObject } from '../../../proxy/turn/json/json.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { eventsOf } from '../../support/network/sse-events.ts';
import { replyBytes } from '../../support/rehearsal-replies.ts';
import { MESSAGES, messagesBody } from './messages-body.ts';

let gate: TestGateway;
before(async () => {
  gate = await startGateway({ upstream: { accounts: ['north'], strict: false } });
});
after(() => gate.close());
beforeEach(() => {
  gate.heal();
  gate.upstream.clear();
});

const PIECES = ['Grüße, ', '"one"\n', 'and ', 'two.'];
const TEXT = PIECES.join('');
const INPUT = ['{"path":', '"a ü",', '"lines":', '[1,2]}'];
const CALL = { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: INPUT.join('') };
const TOOL = { name: 'read', input_schema: { type: 'object', properties: {} } };

const event = (type: string, members: JsonObject): string => `data: ${JSON.stringify({ type: `response.${type}`, ...members })}\n\n`;

/** Deltas as a provider, or a proxy in front of it, can damage them. */
const BROKEN: Readonly<Record<string, (delta: string) => string>> = {
  'is cut off': (delta) => `${delta.slice(0, -12)}\n\n`,
  'has no end of its text': (delta) => delta.replace(/"\}\n\n$/, '}\n\n'),
  'is no JSON': () => 'event: response.output_text.delta\ndata: upstream connect error\n\n',
};

interface Parts {
  readonly kind: 'output_text' | 'function_call_arguments';
  readonly pieces: readonly string[];
  readonly item: JsonObject;
  /** The events after the deltas. */
  readonly ends: string;
}

const PLACE = { output_index: 0, item_id: 'msg_1', content_index: 0 };
const PART = { type: 'output_text', text: TEXT, annotations: [] };
const MESSAGE = { type: 'message', id: 'msg_1', role: 'assistant', content: [PART] };
const text = (ends: string): Parts => ({ kind: 'output_text', pieces: PIECES, item: MESSAGE, ends });
const ITEM_DONE = event('output_item.done', { output_index: 0, item: MESSAGE });
const SHAPES: Readonly<Record<string, Parts>> = {
  'a text, finished as part and item': text(event('content_part.done', { ...PLACE, part: PART }) + ITEM_DONE),
  'a text whose part ends without its text': text(event('content_part.done', PLACE) + ITEM_DONE),
  'a text that only the terminal event has': text(''),
  'the input of a call': {
    kind: 'function_call_arguments',
    pieces: INPUT,
    item: CALL,
    ends: event('output_item.done', { output_index: 0, item: CALL }),
  },
};

function reply({ kind, pieces, item, ends }: Parts, lost: number, broken: (delta: string) => string) {
  const { id, content: _content, arguments: _arguments, ...opened } = item;
  const deltas = pieces.map((delta) => event(`${kind}.delta`, { output_index: 0, item_id: id ?? null, content_index: 0, delta }));
  const response = { id: 'r', object: 'response', status: 'completed' };
  return replyBytes(
    [
      event('created', { response: { ...response, status: 'in_progress', output: [] } }),
      event('output_item.added', { output_index: 0, item: { ...opened, id: id ?? null } }),
      ...deltas.map((delta, i) => (i === lost ? broken(delta) : delta)),
      ends,
      event('completed', { response: { ...response, output: [item] } }),
    ].join(''),
  );
}

const ask = (members: JsonObject = {}) =>
  gate.send(MESSAGES, {
    body: messagesBody({ tools: [TOOL], ...members }),
  });

for (const [shape, parts] of Object.entries(SHAPES)) {
  const isCall = parts.kind === 'function_call_arguments';
  describe(`[AM54] [AM58] ${shape}`, () => {
    for (const [what, broken] of Object.entries(BROKEN)) {
      for (const lost of [0, 1, parts.pieces.length - 1]) {
        test(`whole, piece ${lost} ${what}: the message has all of it`, async () => {
          gate.upstream.next('north', reply(parts, lost, broken));
          const { status, json } = await ask();
          assert.equal(status, 200);
          const [block, ...others] = json.content;
          assert.deepEqual([isCall ? block.input : block.text, others.length], [isCall ? JSON.parse(INPUT.join('')) : TEXT, 0]);
          assert.equal(json.stop_reason, isCall ? 'tool_use' : 'end_turn');
        });
      }

      test(`streamed, the last piece ${what}: the rest is sent`, async () => {
        gate.upstream.next('north', reply(parts, parts.pieces.length - 1, broken));
        const events = eventsOf((await ask({ stream: true })).text).map(({ data }) => data);
        assert.equal(events.map(({ delta }) => delta?.text ?? delta?.partial_json ?? '').join(''), parts.pieces.join(''));
        assert.equal(events.at(-1)?.type, 'message_stop');
      });

      test(`[AM16] streamed, a piece in the middle ${what}: the stream ends with an error`, async () => {
        gate.upstream.next('north', reply(parts, 1, broken));
        const events = eventsOf((await ask({ stream: true })).text).map(({ data }) => data);
        assert.deepEqual([events.at(-1)?.type, events.at(-1)?.error?.type], ['error', 'api_error']);
        assert.ok(!events.some(({ type }) => type === 'message_delta' || type === 'message_stop'));
      });
    }
  });
}

describe('[F1.9] a Chat stream', () => {
  const chat = () =>
    gate.send('/v1/chat/completions', { body: { model: 'model-a', messages: [{ role: 'user', content: 'hi' }], stream: true } });
  for (const [shape, parts] of Object.entries(SHAPES)) {
    for (const [what, broken] of Object.entries(BROKEN)) {
      test(`${shape}, the last piece ${what}: the rest is sent`, async () => {
        gate.upstream.next('north', reply(parts, parts.pieces.length - 1, broken));
        const chunks = [...eventsOf((await chat()).text)];
        assert.equal(chunks.pop()?.data, '[DONE]');
        const deltas = chunks.map(({ data }) => data.choices[0].delta);
        const pieces = deltas.map(({ content, tool_calls: calls }) => content ?? calls?.[0].function?.arguments ?? '');
        assert.equal(pieces.join(''), parts.pieces.join(''));
      });

      test(`${shape}, a piece in the middle ${what}: an error, without [DONE]`, async () => {
        gate.upstream.next('north', reply(parts, 1, broken));
        assert.equal(eventsOf((await chat()).text).at(-1)?.data.error?.code, 'server_error');
      });
    }
  }
});

test('[AM58] what could not be read was no piece of the text: the stream ends well', async () => {
  gate.upstream.next(
    'north',
    reply({ ...text(ITEM_DONE), pieces: ['', ...PIECES] }, 0, () => 'data: upstream connect error\n\n'),
  );
  const events = eventsOf((await ask({ stream: true })).text).map(({ data }) => data);
  assert.equal(events.map(({ delta }) => delta?.text ?? '').join(''), TEXT);
  assert.equal(events.at(-1)?.type, 'message_stop');
});

test('[AM48] a whole message with a lost piece ends at the sequence of its finished text', async () => {
  gate.upstream.next(
    'north',
    reply(text(ITEM_DONE), 1, () => 'data: {\n\n'),
  );
  const { json } = await ask({ stop_sequences: ['one'] });
  assert.deepEqual(
    [json.content, json.stop_reason, json.stop_sequence],
    [[{ type: 'text', text: 'Grüße, "', citations: null }], 'stop_sequence', 'one'],
  );
});
