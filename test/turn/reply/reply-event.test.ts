// The data of an event: a JSON object however it is spaced; for everything else undefined, without the cost of an error.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReplyEvent } from '../../../proxy/turn/reply/reply-event.ts';

/** @param isOnOneLine whether the data needs no joining, as a carrier determines */
function eventWith(text: string, isOnOneLine = true): ReplyEvent {
  const event = new ReplyEvent();
  event.bytes = Buffer.from(isOnOneLine ? `data:${text}\n\n` : text);
  event.end = event.bytes.length;
  event.hasData = text.length > 0;
  if (isOnOneLine) [event.dataStart, event.dataEnd] = [5, 5 + Buffer.byteLength(text)];
  return event;
}

for (const [name, text, expected] of [
  ['an object', '{"a":1}', { a: 1 }],
  ['spaces and tabs before it', ' \t {"a":1} ', { a: 1 }],
  ['line ends before it, as in a frame', '\r\n{"a":1}\n', { a: 1 }],
  ['a list', '[1]', undefined],
  ['text', '"a"', undefined],
  ['[DONE]', '[DONE]', undefined],
  ['half an object', '{"a":', undefined],
  ['nothing', '', undefined],
  ['spaces alone', '   ', undefined],
  ['a byte that JSON does not permit before it', '\u0001{"a":1}', undefined],
] as const) {
  test(`the data of an event is an object or undefined: ${name}`, () => {
    assert.deepEqual(eventWith(text).json(), expected);
  });
}

test('data that cannot be an object is not passed to the parser', (context) => {
  const parse = context.mock.method(JSON, 'parse');
  for (const text of ['', 'x', '[DONE]', '"a"', '   ']) assert.equal(eventWith(text).json(), undefined);
  assert.equal(parse.mock.callCount(), 0);
});

test('data on several lines is joined', () => {
  assert.deepEqual(eventWith('data: {"a":\ndata: 1}\n\n', false).json(), { a: 1 });
});
