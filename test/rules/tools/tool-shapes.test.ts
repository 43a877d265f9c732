// Runs the tables of declared tools, and measures the cost of a hostile declaration.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { customTools } from '../../../rules/tools/custom-tools.ts';
import { remoteMcp } from '../../../rules/tools/remote-mcp.ts';
import { toolChoice } from '../../../rules/tools/tool-choice.ts';
import { toolNames } from '../../../rules/tools/tool-names.ts';
import { toolTypes } from '../../../rules/tools/tool-types.ts';
import { webSearchNames } from '../../../rules/tools/web-search-names.ts';
import { refusalBy } from '../../support/turns/turn.ts';
import { asks, testCases } from './case.ts';
import { CUSTOM_TOOLS, NATIVE_TOOLS, REMOTE_MCP, TOOL_NAMES, TOOL_TYPES, WEB_SEARCH } from './tool-shapes.cases.ts';

const RULES = [remoteMcp, webSearchNames, toolTypes, customTools, toolNames];

testCases(RULES, [...REMOTE_MCP, ...NATIVE_TOOLS, ...TOOL_TYPES, ...CUSTOM_TOOLS, ...TOOL_NAMES]);

testCases([...RULES, toolChoice], WEB_SEARCH);

test('of these rules only remote-mcp runs on native routes', () => {
  assert.deepEqual(
    RULES.filter(({ routes }) => routes.includes('responses')).map(({ name }) => name),
    ['remote-mcp'],
  );
});

test('a refusal names the place and never repeats the text', async () => {
  const secret = 'sk-do-not-repeat';
  for (const tool of [
    { type: secret },
    { type: 'custom', name: 'c', [`${secret} `]: 1 },
    { type: 'custom', name: 'c', description: [secret] },
  ]) {
    const refusal = await refusalBy(RULES, asks({ tools: [tool] }), { kind: 'public-responses' });
    assert.ok(refusal && !JSON.stringify(refusal.error).includes(secret));
  }
});

test('a hundred thousand tools are checked once each', async () => {
  const tools = Array.from({ length: 100_000 }, (_, i) => ({ type: 'custom', name: `c${i}` }));
  assert.equal(await refusalBy(RULES, asks({ tools: [{ type: 'namespace', name: 'n', tools }] }), { kind: 'public-responses' }), undefined);
});
