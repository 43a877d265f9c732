// The blocks of a message equal the items of the account, for every order and division of the account's events (AM51 to AM57).
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BlockOutput, decoded, type TextDelta } from '../../../proxy/surfaces/messages/reply/block-writer.ts';
import type { ThinkingDisplay } from '../../../proxy/surfaces/messages/reply/item-blocks.ts';
import { type MessageEnd, MessageReply } from '../../../proxy/surfaces/messages/reply/message-reply.ts';
import { WholeMessage } from '../../../proxy/surfaces/messages/reply/whole-message.ts';
import { signatureOf } from '../../../proxy/surfaces/messages/signature.ts';
import { StopSequences } from '../../../proxy/surfaces/messages/stop-sequences.ts';
import { asList, isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { jsonText } from '../../../proxy/turn/reply/event-bytes.ts';
import { SeededRandom } from '../../simulation/seeded-random.ts';

/** Checks the order of the events, and passes them on. */
class Checked implements BlockOutput {
  readonly whole = new WholeMessage();
  readonly types: string[] = [];
  #open: number | undefined;
  #next = 0;

  start(index: number, block: JsonObject): void {
    assert.deepEqual([this.#open, index], [undefined, this.#next++]);
    this.#open = index;
    this.types.push(String(block.type));
    this.whole.start(index, block);
  }

  text(index: number, kind: TextDelta, text: Buffer): void {
    assert.equal(index, this.#open);
    assert.notEqual(text.length, 0);
    this.whole.text(index, kind, text);
  }

  replace(index: number, kind: TextDelta, text: Buffer): void {
    assert.equal(index, this.#open);
    this.whole.replace(index, kind, text);
  }

  delta(index: number, delta: JsonObject): void {
    assert.equal(index, this.#open);
    this.whole.delta(index, delta);
  }

  stop(index: number, cut: boolean): void {
    assert.equal(index, this.#open);
    this.#open = undefined;
    this.whole.stop(index, cut);
  }

  get isClosed(): boolean {
    return this.#open === undefined;
  }
}

interface Read {
  readonly content: JsonObject[];
  readonly end: MessageEnd;
}

type Step = (reply: MessageReply) => void;

const NO_MEMORY = { hold: () => undefined, release: () => undefined };

function read(steps: readonly Step[], response: JsonObject, thinking: ThinkingDisplay = 'text', stops: readonly string[] = []): Read {
  const output = new Checked();
  const options = {
    thinking,
    memory: NO_MEMORY,
    clientName: (name: string) => name,
    stops: stops.length > 0 ? new StopSequences(stops) : undefined,
  };
  const reply = new MessageReply(output, options);
  for (const step of steps) step(reply);
  const end = reply.finish(response);
  assert.ok(output.isClosed);
  return { content: output.whole.content(end), end };
}

const said = (text: string, members: JsonObject = {}): JsonObject => ({ type: 'output_text', text, annotations: [], ...members });

const OUTPUT: readonly JsonObject[] = [
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [
      { type: 'summary_text', text: 'First thought.' },
      { type: 'summary_text', text: 'Second "thought".' },
    ],
    encrypted_content: 'gAAA',
  },
  { type: 'message', id: 'msg_1', content: [said('Hello, \n"you".'), said('A second part.')] },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'read', arguments: '{"path":"a"}' },
  { type: 'function_call', id: 'fc_2', call_id: 'call two', name: 'list', arguments: '{}' },
  { type: 'message', id: 'msg_2', content: [said('The end.')] },
];

const CONTENT: readonly JsonObject[] = [
  { type: 'thinking', thinking: 'First thought.\n\nSecond "thought".', signature: signatureOf('gAAA') },
  { type: 'text', text: 'Hello, \n"you".', citations: null },
  { type: 'text', text: 'A second part.', citations: null },
  { type: 'tool_use', id: 'call_1', name: 'read', input: { path: 'a' }, caller: { type: 'direct' } },
  { type: 'tool_use', id: 'toolu_95c9df176fd9727b82522206', name: 'list', input: {}, caller: { type: 'direct' } },
  { type: 'text', text: 'The end.', citations: null },
];

const DELTAS = { reasoning: 'summary', message: 'text', function_call: 'arguments' } as const;

const textsOf = ({ content, summary, arguments: given }: JsonObject): readonly string[] =>
  typeof given === 'string' ? [given] : asList(content ?? summary).map((part) => (isObject(part) ? String(part.text) : ''));

/** The events of one item, its texts divided at random. */
function steps(item: JsonObject, index: number, random: SeededRandom): readonly Step[] {
  const place = { index, id: item.id };
  const kind = DELTAS[item.type as keyof typeof DELTAS];
  const deltas = textsOf(item).flatMap((text, part) => {
    const pieces: string[] = [];
    for (let at = 0; at < text.length; ) {
      const length = 1 + Math.floor(random.between(0, 4));
      pieces.push(text.slice(at, at + length));
      at += length;
    }
    return pieces.map(
      (piece): Step =>
        (reply) =>
          reply.delta(kind, place, part, jsonText(piece)),
    );
  });
  return [(reply) => reply.opened(item, place, 1), ...deltas, (reply) => reply.done(item, place, 1)];
}

/** Mixes the events of items, which open in their order. */
function mixed(items: readonly (readonly Step[])[], random: SeededRandom): readonly Step[] {
  const rest = items.map((one) => [...one]);
  const all: Step[] = [];
  let opened = 0;
  while (rest.some((one) => one.length > 0)) {
    const at = Math.floor(random.between(0, Math.min(opened + 1, rest.length)));
    if (at === opened) opened += 1;
    const step = rest[at]?.shift();
    if (step) all.push(step);
  }
  return all;
}

describe('[AM54] [AM56] the blocks of a reply', () => {
  test('are the same for every order and division of its events', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = new SeededRandom(seed);
      const events = mixed(
        OUTPUT.map((item, index) => steps(item, index, random)),
        random,
      );
      assert.deepEqual(read(events, { status: 'completed', output: [...OUTPUT] }).content, CONTENT, `seed ${seed}`);
    }
  });

  test('are the same without deltas, and with the terminal event alone', () => {
    const response = { status: 'completed', output: [...OUTPUT] };
    const done = OUTPUT.map(
      (item, index): Step =>
        (reply) =>
          reply.done(item, { index, id: item.id }, 1),
    );
    assert.deepEqual(read(done, response).content, CONTENT);
    assert.deepEqual(read([], response).content, CONTENT);
    assert.equal(read([], response).end.stop_reason, 'tool_use');
  });

  test('an item that opens twice is one block, and one that ended stays closed', () => {
    const place = { index: 0, id: 'msg_2' };
    const item = OUTPUT[4] as JsonObject;
    const twice: readonly Step[] = [
      (reply) => reply.opened(item, place, 1),
      (reply) => reply.opened(item, place, 1),
      (reply) => reply.done(item, place, 1),
      (reply) => reply.delta('text', place, 0, jsonText('late')),
      (reply) => reply.opened(item, place, 1),
      (reply) => reply.done(item, place, 1),
    ];
    assert.deepEqual(read(twice, { status: 'completed', output: [item] }).content, [CONTENT[5]]);
  });

  test('a call whose arguments come before its name has them whole', () => {
    const [call] = OUTPUT.slice(2);
    const early: Step = (reply) => reply.delta('arguments', { index: 0 }, 0, jsonText('{"pa'));
    assert.deepEqual(read([early], { status: 'completed', output: [call ?? {}] }).content, [CONTENT[3]]);
  });
});

describe('[AM36] thinking', () => {
  const bare: JsonObject = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' };
  const raw: JsonObject = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'Raw.' }] };
  const of = (item: JsonObject, display: ThinkingDisplay): JsonObject[] =>
    read([], { status: 'completed', output: [item] }, display).content;

  test('without text it is redacted, with display omitted an empty signed block', () => {
    assert.deepEqual(of(bare, 'text'), [{ type: 'redacted_thinking', data: signatureOf('gAAA') }]);
    assert.deepEqual(of(bare, 'omitted'), [{ type: 'thinking', thinking: '', signature: signatureOf('gAAA') }]);
    assert.deepEqual(of(OUTPUT[0] as JsonObject, 'omitted'), [{ type: 'thinking', thinking: '', signature: signatureOf('gAAA') }]);
    assert.deepEqual(of(bare, 'none'), []);
  });

  test('without ciphertext it needs a text', () => {
    assert.deepEqual(of(raw, 'text'), [{ type: 'thinking', thinking: 'Raw.', signature: '' }]);
    assert.deepEqual(of({ type: 'reasoning', summary: [] }, 'text'), []);
  });
});

describe('[AM55] [AM57] how a message ends', () => {
  const ends = (response: JsonObject, stops: readonly string[] = []): MessageEnd => read([], response, 'text', stops).end;
  const message = (text: string): JsonObject => ({ type: 'message', content: [said(text)] });

  test('by its reason', () => {
    const incomplete = (reason: string): JsonObject => ({ status: 'incomplete', incomplete_details: { reason }, output: [message('x')] });
    assert.equal(ends({ status: 'completed', output: [message('x')] }).stop_reason, 'end_turn');
    assert.equal(ends(incomplete('max_output_tokens')).stop_reason, 'max_tokens');
    assert.equal(ends(incomplete('content_filter')).stop_reason, 'refusal');
    const refused = ends({ status: 'completed', output: [{ type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] }] });
    assert.deepEqual(refused, {
      stop_reason: 'refusal',
      stop_sequence: null,
      stop_details: { type: 'refusal', category: null, explanation: null },
    });
  });

  test('a stop sequence ends it before its text, and drops what follows', () => {
    const { content, end } = read([], { status: 'completed', output: [message('one STOP two'), message('three')] }, 'text', ['STOP']);
    assert.deepEqual(content, [{ type: 'text', text: 'one ', citations: null }]);
    assert.deepEqual([end.stop_reason, end.stop_sequence], ['stop_sequence', 'STOP']);
    assert.deepEqual(read([], { status: 'completed', output: [message('STOP')] }, 'text', ['STOP']).content, []);
  });

  test('a call that was cut is left out of a whole message', () => {
    const call: JsonObject = { type: 'function_call', call_id: 'call_1', name: 'read', arguments: '{"pa', status: 'incomplete' };
    const cut = read([], { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [message('x'), call] });
    assert.deepEqual([cut.content.length, cut.end.stop_reason], [1, 'max_tokens']);
    const noObject = read([], { status: 'completed', output: [{ ...call, arguments: '[1]', status: 'completed' }] });
    assert.deepEqual(noObject.content[0]?.input, {});
  });

  test('a web search is its call and its sources', () => {
    const action = { type: 'search', query: 'q "1"', sources: [{ type: 'url', url: 'https://a.example/' }] };
    const [use, results] = read([], { status: 'completed', output: [{ type: 'web_search_call', id: 'ws_1', action }] }).content;
    assert.deepEqual(use, { type: 'server_tool_use', id: 'srvtoolu_ws_1', name: 'web_search', input: { query: 'q "1"' } });
    const source = {
      type: 'web_search_result',
      url: 'https://a.example/',
      title: 'https://a.example/',
      encrypted_content: '',
      page_age: null,
    };
    assert.deepEqual(results, { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_ws_1', content: [source] });
  });

  test('a text comes with its citations', () => {
    const annotation = { type: 'url_citation', url: 'https://a.example/', title: 'A', start_index: 0, end_index: 1 };
    const cited = { type: 'message', content: [said('x', { annotations: [annotation] })] };
    const [block] = read([], { status: 'completed', output: [cited] }).content;
    assert.deepEqual(block?.citations, [
      { type: 'web_search_result_location', url: 'https://a.example/', title: 'A', cited_text: '', encrypted_index: '' },
    ]);
  });
});

test('[AM50] decoded texts are what was encoded', () => {
  for (const text of ['', 'a"b\\c\n', '\ud83d', '\u{1f600}']) assert.equal(decoded(jsonText(text)), text);
});
