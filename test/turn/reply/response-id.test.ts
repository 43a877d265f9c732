// The id of a response is read in the bytes of the event that announces it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseIdIn } from '../../../proxy/turn/reply/event-bytes.ts';

const idIn = (text: string, start = 0): string | undefined => {
  const bytes = Buffer.from(text);
  return responseIdIn({ type: 'response.created', bytes, start, end: bytes.length });
};

test('the id is read where the response begins', () => {
  const created = '{"type":"response.created","response":{"id":"resp_123456789abcdef","status":"queued"}}';
  assert.equal(idIn(created), 'resp_123456789abcdef');
  assert.equal(idIn(`data: é${created}`, 8), 'resp_123456789abcdef');
  assert.equal(idIn('{"response" : { "id" : "r" }}'), 'r');
});

test('an id that comes later, or has an escape, is not read', () => {
  assert.equal(idIn(`{"type":"response.created","text":"${'x'.repeat(600)}","response":{"id":"resp_1"}}`), undefined);
  assert.equal(idIn('{"response":{"id":"a\\nb"}}'), undefined);
  assert.equal(idIn('{"response":{"status":"queued"}}'), undefined);
});
