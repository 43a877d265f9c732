// How many responses of a websocket a turn can continue.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptResponses } from '../../../proxy/upstream/carriers/websocket/kept-responses.ts';

const MEGABYTE = 1_048_576;

const keep = (responses: KeptResponses, number: number, lifted?: string): void =>
  responses.add({ id: `resp_${number}`, mode: 'full', lifted });

test('the last 128 responses are kept', () => {
  const responses = new KeptResponses();
  for (let i = 0; i < 130; i++) keep(responses, i);
  assert.deepEqual(
    [1, 2, 129].map((number) => responses.get(`resp_${number}`)?.id),
    [undefined, 'resp_2', 'resp_129'],
  );
});

test('the oldest responses are forgotten when the instructions of all have more than four million characters', () => {
  const responses = new KeptResponses();
  const text = 'x'.repeat(MEGABYTE);
  for (let i = 0; i < 10; i++) keep(responses, i, text);
  assert.equal(responses.get('resp_5'), undefined);
  assert.equal(responses.get('resp_6')?.lifted, text);
  // Forgotten instructions do not count any more.
  for (let i = 10; i < 100; i++) keep(responses, i);
  assert.equal(responses.get('resp_6')?.lifted, text);
  keep(responses, 100, 'x'.repeat(5 * MEGABYTE));
  assert.equal(responses.get('resp_99'), undefined);
  assert.equal(responses.get('resp_100'), undefined);
});
