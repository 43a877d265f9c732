// The shapes of a request's input over the wire: lists, audio, the reasoning context, and what the surface does not take.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AUDIO, INPUT_LISTS, ITEM_REFERENCES, REASONING_CONTEXT, UNSUPPORTED_PARAMETERS } from '../../rules/input/input.cases.ts';
import { startGateway } from '../../support/gateway.ts';
import { fromTools } from '../../support/wire/case.ts';
import { testTable } from '../../support/wire/table.ts';

testTable('[F1.6] input and tools are lists', fromTools(INPUT_LISTS));
testTable('[F1.2] audio is checked before anything is dispatched', fromTools(AUDIO));
testTable('[F1.7] reasoning.context is one of three words', fromTools(REASONING_CONTEXT));
testTable('[Q15] references to stored items are dropped or refused', fromTools(ITEM_REFERENCES));
testTable('[ER2] parameters whose meaning would be lost are refused', fromTools(UNSUPPORTED_PARAMETERS));

test('[F1.2] audio of the whole 52,428,800 decoded bytes fits through the limits of a request', async () => {
  await using gate = await startGateway({ upstream: { accounts: ['north'] } });
  const data = Buffer.alloc(52_428_800).toString('base64');
  const input = [{ role: 'user', content: [{ type: 'input_audio', input_audio: { data, format: 'wav' } }] }];
  const reply = await gate.send('/v1/responses', { body: { model: 'model-a', input } });
  assert.deepEqual([reply.status, gate.upstream.turns().length], [200, 1], reply.text.slice(0, 200));
});
