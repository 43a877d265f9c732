// Large JSON is written in parts, and has the same bytes as if it were written at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../proxy/turn/json/json.ts';
import { writeLargeJson } from '../../proxy/turn/json/large-json-writer.ts';

const text = (length: number, of = 'x'): string => of.repeat(Math.ceil(length / of.length));

const CASES: readonly (readonly [string, Json | { readonly [member: string]: Json | undefined }])[] = [
  ['an empty object', {}],
  ['an empty list among large ones', { a: [], b: text(300_000), c: {} }],
  ['a string of many parts', { a: text(1_000_000) }],
  ['characters of two units, wherever a part ends', [text(400_000, '😀'), `x${text(400_000, '😀')}`]],
  ['halves of characters', [`${text(131_071)}\ud83d${text(131_071)}`, `${text(131_072)}\ude00`]],
  ['characters that are escaped', text(500_000, '"\\\n\u0001\u2028é')],
  ['a long list of small items', Array.from({ length: 60_000 }, (_, i) => ({ type: 'message', role: 'user', content: `text ${i}` }))],
  ['a long list of the smallest items', Array.from({ length: 100_000 }, () => ({}))],
  ['large items among small ones', [1, 'a', text(200_000), {}, [], [text(70_000), [{ a: [text(70_000)] }]], null]],
  ['depth', Array.from({ length: 100 }).reduce<Json>((inner) => [inner, text(3_000)], 'end')],
  ['members that are undefined', { a: undefined, b: text(300_000), c: undefined, d: [1, null, true] }],
  ['names that are escaped', { 'a"b': text(300_000), __proto__x: 1, '': 2 }],
];

for (const [what, value] of CASES) {
  test(`[Q38] ${what} comes out as JSON.stringify writes it`, async () => {
    // The first guess is far too small.
    const written = await writeLargeJson(value, { key: 'ci', bytes: 10 });
    assert.ok(written.equals(Buffer.from(JSON.stringify(value))));
  });
}

test('[Q38] other work of the event loop runs between the parts', async () => {
  let turns = 0;
  let isWritten = false;
  const count = (): void => {
    turns += 1;
    if (!isWritten) setImmediate(count);
  };
  setImmediate(count);
  await writeLargeJson({ a: text(20_000_000) }, { key: 'ci', bytes: 20_000_000 });
  isWritten = true;
  // Slices have a length in time, so a fast machine needs fewer of them, but never as few as this.
  assert.ok(turns >= 4, `${turns} turns`);
});

test('[Q38] JSON is written one body at a time, and keys take turns', async () => {
  const ended: string[] = [];
  const write = async (key: string): Promise<void> => {
    await writeLargeJson({ a: text(1_000_000) }, { key, bytes: 1_000_000 });
    ended.push(key);
  };
  await Promise.all(['many', 'many', 'many', 'one'].map(write));
  assert.deepEqual(ended, ['many', 'many', 'one', 'many']);
});
