// The output-token policy in isolation.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dropFields } from '../../../rules/dialect/drop-fields.ts';
import { outputTokens } from '../../../rules/effort/output-tokens.ts';
import { run } from '../../support/turns/turn.ts';
import { testCases } from '../dialect/case.ts';
import { OUTPUT_TOKENS } from './output-tokens.cases.ts';

testCases([outputTokens], OUTPUT_TOKENS);

test('[Q15] an account whose provider refuses the field does not get the one that the policy added', async () => {
  const ran = await run([outputTokens, dropFields], { input: [] }, { key: { output_tokens: { max: 10 } } });
  assert.equal('max_output_tokens' in ran.attempt({ drop_fields: ['max_output_tokens'] }).body, false);
  const takes = { keep_fields: ['max_output_tokens'] };
  assert.equal(ran.attempt(takes).body.max_output_tokens, 10, 'another account gets it');
});

test('[RB8] an agent account gets a cap that the client wrote, and one that the policy added only where keep_fields has it', async () => {
  const key = { output_tokens: { max: 10 } };
  const added = await run([outputTokens], { input: [] }, { key });
  assert.equal('max_output_tokens' in added.attempt().body, false);
  assert.equal(added.attempt({ keep_fields: ['max_output_tokens'] }).body.max_output_tokens, 10);
  const written = await run([outputTokens], { input: [], max_output_tokens: 7 }, { key });
  assert.equal(written.attempt().body.max_output_tokens, 7);
});
