// The dialect rules in isolation, each with its table of cases.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backendShape } from '../../../rules/dialect/backend-shape.ts';
import { dialectShape } from '../../../rules/dialect/dialect-shape.ts';
import { jsonMention } from '../../../rules/dialect/json-mention.ts';
import { liftInstructions } from '../../../rules/dialect/lift-instructions.ts';
import { liteRewrite } from '../../../rules/dialect/lite-rewrite.ts';
import { liteToolChoice } from '../../../rules/dialect/lite-tool-choice.ts';
import { servingMode } from '../../../rules/dialect/serving-mode.ts';
import { systemRole } from '../../../rules/dialect/system-role.ts';
import { phase, run } from '../../support/turns/turn.ts';
import { AUTO_FULL, AUTO_LITE, FULL, LITE, testCases } from './case.ts';
import { JSON_MENTION, LIFT, SYSTEM_ROLE } from './lift.cases.ts';
import { FULL_PASS, IMAGE_DETAIL, LITE_REWRITE } from './lite.cases.ts';
import { BACKEND_SHAPE, SHAPES, TOOL_CHOICE } from './shape.cases.ts';

testCases([liteToolChoice], TOOL_CHOICE);
testCases([dialectShape], SHAPES);
testCases([liftInstructions], LIFT);
testCases([liftInstructions, systemRole], SYSTEM_ROLE);
testCases([liftInstructions, jsonMention], JSON_MENTION);
testCases([backendShape], BACKEND_SHAPE);
testCases([liteRewrite], [...LITE_REWRITE, ...IMAGE_DETAIL, ...FULL_PASS]);

test('[F2.9] a list without images to change is not copied', async () => {
  const body = {
    input: [
      { type: 'additional_tools', role: 'developer', tools: [] },
      { type: 'message', role: 'user', content: [{ type: 'input_image' }] },
    ],
  };
  const first = await run([liteRewrite], body, { model: { mode: LITE } });
  const list = first.body.input;
  const again = { body: first.body };
  phase(liteRewrite, 'edit')(again, undefined, first.turn);
  assert.equal(again.body.input, list);
});

test('[RM1] the row gets the configured mode, the effective one and its source', async () => {
  for (const mode of [LITE, AUTO_LITE, FULL, AUTO_FULL]) {
    const { turn } = await run([servingMode], {}, { model: { mode } });
    assert.deepEqual(turn.noted, { configured_mode: mode.configured, effective_mode: mode.effective, mode_source: mode.source });
  }
});

test('[MC7] the row of an unresolved pair gets no mode', async () => {
  const { turn } = await run([servingMode], {}, { model: { routable: false, mode: undefined } });
  assert.deepEqual(turn.noted, {});
});
