// Runs the tables of input forms.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { audio, decodedBytes } from '../../../rules/input/audio.ts';
import { inputLists } from '../../../rules/input/input-lists.ts';
import { itemReferences } from '../../../rules/input/item-references.ts';
import { reasoningContext } from '../../../rules/input/reasoning-context.ts';
import { unsupportedParameters } from '../../../rules/input/unsupported-parameters.ts';
import { refusalBy } from '../../support/turns/turn.ts';
import { asks, testCases } from '../tools/case.ts';
import { AUDIO, INPUT_LISTS, ITEM_REFERENCES, REASONING_CONTEXT, UNSUPPORTED_PARAMETERS } from './input.cases.ts';

testCases(
  [inputLists, unsupportedParameters, reasoningContext, audio, itemReferences],
  [...INPUT_LISTS, ...UNSUPPORTED_PARAMETERS, ...REASONING_CONTEXT, ...AUDIO, ...ITEM_REFERENCES],
);

test('[Q15] the refusal of a reference gives advice', async () => {
  const input = [{ type: 'item_reference', id: 'msg_secret' }];
  const refusal = await refusalBy([itemReferences], asks({ input }), { kind: 'public-responses' });
  assert.equal(
    refusal?.message,
    '`input.0` refers to a stored item, but nothing is stored here; send the item itself, as SDKs do with `store: false`.',
  );
});

test('the size of base64 equals the number of decoded bytes', () => {
  for (let bytes = 1; bytes < 300; bytes += 1) {
    assert.equal(decodedBytes(Buffer.alloc(bytes, 0xfb).toString('base64'), 300), bytes);
  }
});

test('[F1.2] audio of 52,428,800 bytes passes, one byte more does not', async () => {
  for (const [bytes, param] of [
    [52_428_800, undefined],
    [52_428_801, 'input.0.content.0.input_audio.data'],
  ] as const) {
    const data = Buffer.alloc(bytes).toString('base64');
    const content = [{ type: 'input_audio', input_audio: { data, format: 'wav' } }];
    const refusal = await refusalBy([audio], asks({ input: [{ role: 'user', content }] }), { kind: 'public-responses' });
    assert.equal(refusal?.error.param, param);
  }
});
