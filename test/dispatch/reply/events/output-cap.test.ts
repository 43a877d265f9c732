// A cap of output tokens parses no event but the last delta, and counts and keeps texts in every spelling of JSON (CR1, Q18).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryGuard } from '../../../../proxy/base/bytes/memory-guard.ts';
import { Counters } from '../../../../proxy/base/process/metrics.ts';
import { OutputCap } from '../../../../proxy/dispatch/reply/events/output-cap.ts';
import type { JsonObject } from '../../../../proxy/turn/json/json.ts';
import { HeldBytes } from '../../../../proxy/turn/reply/held-bytes.ts';
import { ReplyEvent } from '../../../../proxy/turn/reply/reply-event.ts';
import { turnOf } from '../../../support/turns/turn.ts';

interface Read {
  /** The texts of the deltas that the client gets. */
  readonly shown: string;
  /** The events after the reply was ended; undefined if it was not. */
  readonly closing: readonly JsonObject[] | undefined;
  /** The types of the events that were parsed. */
  readonly parsed: readonly string[];
}

/** Reads a reply of one message. @param written writes the text of a delta as JSON */
function read(tokens: number, deltas: readonly string[], written = (text: string) => JSON.stringify(text)): Read {
  const memory = new HeldBytes({ guard: new MemoryGuard(), counters: new Counters() }, turnOf().limits);
  const cap = new OutputCap(tokens, memory, () => undefined);
  const parsed: string[] = [];
  const eventOf = (data: JsonObject, delta?: string): ReplyEvent => {
    const head = JSON.stringify(data).slice(0, -1);
    const event = ReplyEvent.of(data);
    event.bytes = Buffer.from(delta === undefined ? `${head}}` : `${head},"delta":${written(delta)}}`);
    Object.assign(event, { start: 0, end: event.bytes.length, dataStart: 0, dataEnd: event.bytes.length });
    const json = event.json.bind(event);
    event.json = () => {
      parsed.push(event.type);
      return json();
    };
    return event;
  };
  const [item_id, output_index, content_index] = ['msg-1', 0, 0];
  const item = { id: item_id, type: 'message', status: 'in_progress', content: [] };
  const part = { type: 'output_text', text: '', annotations: [] };
  cap.read(eventOf({ type: 'response.created', response: { id: 'resp-1' }, sequence_number: 0 }), undefined);
  cap.read(eventOf({ type: 'response.output_item.added', output_index, item, sequence_number: 1 }), undefined);
  cap.read(eventOf({ type: 'response.content_part.added', item_id, output_index, content_index, part, sequence_number: 2 }), undefined);
  let shown = '';
  for (const [i, delta] of deltas.entries()) {
    const data = { type: 'response.output_text.delta', item_id, output_index, content_index, sequence_number: 3 + i };
    const last = cap.read(eventOf(data, delta), undefined);
    if (last) return { shown: shown + last.map((event) => event.delta).join(''), closing: [...last, ...cap.closing()], parsed };
    shown += delta;
  }
  return { shown, closing: undefined, parsed };
}

test('no event below the cap is parsed, and one delta beyond it', () => {
  const text = ['north ', 'wind\n', 'and "rain"', ' ', 'tea'];
  assert.deepEqual(read(1_000, text), { shown: text.join(''), closing: undefined, parsed: [] });
  assert.deepEqual(read(2, text).parsed, ['response.output_text.delta']);
});

const ascii = (text: string): string =>
  JSON.stringify(text).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

for (const [spelling, written] of [
  ['in UTF-8', undefined],
  ['in ASCII', ascii],
] as const) {
  for (const [what, deltas, shown] of [
    ['escapes', ['a\nb"c', '\\\t/', 'more'], 'a\nb"c\\\t/'],
    ['letters of two and three bytes', ['öö', '日', 'xy'], 'öö日x'],
    ['a character of four bytes that does not fit', ['abcdef', '🙂'], 'abcdef'],
  ] as const) {
    test(`${what}, ${spelling}, are cut between characters and kept in the message`, () => {
      const { shown: got, closing } = read(2, deltas, written);
      assert.equal(got, shown);
      const last = closing?.at(-1)?.response as { readonly output: readonly [{ readonly content: readonly [{ readonly text: string }] }] };
      assert.equal(last.output[0].content[0].text, got);
    });
  }
}

test('[Q18] a cap that falls between two deltas leaves no gap in the sequence numbers', () => {
  const { shown, closing } = read(2, ['abcd', 'efgh', 'next']);
  assert.equal(shown, 'abcdefgh');
  assert.deepEqual(
    closing?.map(({ sequence_number }) => sequence_number),
    [5, 6, 7, 8],
  );
});
