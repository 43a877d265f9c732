// Runs the table of tool choices.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../proxy/turn/json/json.ts';
import { toolChoice } from '../../../rules/tools/tool-choice.ts';
import { refusalBy } from '../../support/turns/turn.ts';
import { asks, testCases } from './case.ts';
import { TOOL_CHOICE } from './tool-choice.cases.ts';

testCases([toolChoice], TOOL_CHOICE);

test('a deep structure in place of a name names no tool', async () => {
  let name: Json = 'x';
  for (let i = 0; i < 500; i += 1) name = [name];
  const refusal = await refusalBy([toolChoice], asks({ tool_choice: { type: 'custom', name } }), { kind: 'public-responses' });
  assert.equal(refusal?.error.param, 'tool_choice');
});
