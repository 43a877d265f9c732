// Estimates of input and output tokens, and of the output bytes of events, without a tokenizer.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { VisibleOutput } from '../../proxy/keys/reservation.ts';
import type { Json } from '../../proxy/turn/json/json.ts';
import { inputTokens, outputCap } from '../../proxy/turn/token-estimate.ts';
import type { Body } from '../../proxy/turn/turn.ts';

const wav = (seconds: number): string => {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0, 'latin1');
  head.write('WAVE', 8, 'latin1');
  head.writeUInt32LE(32_000, 28);
  return Buffer.concat([head, Buffer.alloc(seconds * 32_000 - 44)]).toString('base64');
};

const text = (length: number): string => 'x'.repeat(length);

describe('[Q19] the input estimate', () => {
  const cases: readonly (readonly [what: string, body: Body, tokens: number])[] = [
    ['nothing', {}, 0],
    ['a string', { input: text(40) }, 10],
    ['UTF-8 bytes, not characters', { input: 'ä'.repeat(10) }, 5],
    ['a part of a token', { input: 'abcde' }, 2],
    ['instructions and messages', { instructions: text(40), input: [{ role: 'user', content: text(40) }] }, 20],
    ['text parts', { input: [{ type: 'message', content: [{ type: 'input_text', text: text(80) }] }] }, 20],
    ['calls and their outputs', { input: [{ arguments: text(4) }, { input: text(4) }, { output: [{ text: text(4) }] }] }, 3],
    ['reasoning by its summary', { input: [{ type: 'reasoning', summary: [{ text: text(8) }], encrypted_content: text(8000) }] }, 2],
    ['a compaction for nothing', { input: [{ type: 'compaction', encrypted_content: text(8000) }] }, 0],
    ['images by their number', { input: [{ content: [{ type: 'input_image', image_url: `data:image/png;base64,${text(9999)}` }] }] }, 1000],
    ['images in outputs', { input: [{ output: [{ type: 'input_image', image_url: 'https://i' }] }] }, 1000],
    ['data URLs for nothing', { input: [{ content: `data:text/plain;charset=utf-8;base64,${text(4000)}` }] }, 0],
    ['what only looks like one', { input: `data: ${text(34)}` }, 10],
    ['files for nothing', { input: [{ content: [{ type: 'input_file', file_data: text(4000), filename: 'f' }] }] }, 0],
    [
      'tools for nothing',
      { tools: [{ description: text(400) }], input: [{ type: 'additional_tools', tools: [{ description: text(4) }] }] },
      0,
    ],
    ['audio by its length', { input: [{ content: [{ type: 'input_audio', input_audio: { data: wav(4), format: 'wav' } }] }] }, 100],
    ['audio of other formats by its bytes', { input: [{ content: [{ type: 'input_audio', data: text(64_000), format: 'mp3' }] }] }, 75],
    [
      'Chat messages',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: text(8) },
              { type: 'image_url', image_url: { url: 'data:,x' } },
            ],
          },
          { role: 'assistant', content: null, tool_calls: [{ type: 'function', function: { name: 'f', arguments: text(8) } }] },
        ],
      },
      1004,
    ],
    ['what is no text for nothing', { input: [1, null, true, { content: 5 }] as Json }, 0],
  ];
  for (const [what, body, tokens] of cases) test(`counts ${what}`, () => assert.equal(inputTokens(body), tokens));
});

describe('[Q19] the output cap', () => {
  const cases: readonly (readonly [what: string, body: Body, keyMax: number | undefined, tokens: number])[] = [
    ['none without a cap', {}, undefined, Number.POSITIVE_INFINITY],
    ['the client’s cap', { max_output_tokens: 10 }, undefined, 10],
    ['Chat’s caps', { max_completion_tokens: 20, max_tokens: 30 }, undefined, 20],
    ['the key’s', {}, 100, 100],
    ['the smaller of both', { max_output_tokens: 50 }, 100, 50],
    ['the smaller of both, also the key’s', { max_output_tokens: 500 }, 100, 100],
    ['0 for a prewarm', { generate: false, max_output_tokens: 50 }, 100, 0],
    ['none for a cap of null', { max_output_tokens: null }, undefined, Number.POSITIVE_INFINITY],
  ];
  for (const [what, body, keyMax, tokens] of cases) test(`is ${what}`, () => assert.equal(outputCap(body, keyMax), tokens));
});

describe('the visible output of an event', () => {
  const shown = (type: string, ...data: readonly string[]): number => {
    const around = 'data: {"delta":"another event"}\n\n';
    const reply = new VisibleOutput();
    let start = around.length;
    const events = data.map((one) => `data: ${one}\n\n`);
    const bytes = Buffer.from(around + events.join('') + around);
    for (const event of events) {
      const end = start + Buffer.byteLength(event);
      reply.add({ type, bytes, start, end });
      start = end;
    }
    return reply.bytes;
  };

  for (const delta of [
    '',
    'hello',
    'Grüße',
    '日本',
    '😀',
    'a "quoted" \\ word',
    'line\nand\ttab\u0001',
    '\ud83d alone',
    'é'.normalize('NFD'),
  ]) {
    const type = 'response.output_text.delta';
    test(`is the UTF-8 length of ${JSON.stringify(delta)}, plain or escaped`, () => {
      const plain = JSON.stringify({ type, sequence_number: 1, item_id: 'msg', delta, logprobs: [] });
      const escaped = plain.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
      const length = [...delta].reduce(
        (sum, one) => sum + (/[\ud800-\udfff]/.test(one) && one.length === 1 ? 2 : Buffer.byteLength(one)),
        0,
      );
      assert.equal(shown(type, escaped), length);
      if (!delta.includes('\ud83d alone')) assert.equal(shown(type, plain), length);
    });
  }

  test('is 0 for events that are not deltas or have no text', () => {
    assert.equal(shown('response.output_text.done', '{"delta":"x"}'), 0);
    assert.equal(shown('response.output_text.delta', '{"type":"response.output_text.delta"}'), 0);
    assert.equal(shown('response.output_text.delta', '{"delta":{"a":1}}'), 0);
  });

  test('adds up over events of any shape', () => {
    const type = 'response.output_text.delta';
    const events = Array.from({ length: 200 }, (_, n) => ({
      type,
      sequence_number: n * 7,
      item_id: 'm'.repeat(n % 3),
      delta: 'x'.repeat(n % 5),
    }));
    const odd = [{ delta: 'first' }, { type, delta: '' }, { type, obfuscation: '"delta":"', delta: 'abc' }];
    const all = [...events, ...odd, ...events];
    const length = all.reduce((sum, { delta }) => sum + delta.length, 0);
    assert.equal(shown(type, ...all.map((event) => JSON.stringify(event))), length);
  });

  test('ends with the event where the text has no end', () => {
    assert.ok(shown('x.delta', '{"delta":"never closed') <= 16);
    assert.ok(shown('x.delta', '{"delta":"cut \\u00') < 16);
  });
});
