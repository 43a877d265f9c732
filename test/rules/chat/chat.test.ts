// The translation of Chat in isolation: its rules in their order, from the body of the client to a Responses body.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '../../../proxy/turn/json/json.ts';
import { RULES } from '../../../rules/index.ts';
import { refusalBy, run } from '../../support/turns/turn.ts';
import { asksOnChat, testCases } from '../tools/case.ts';
import { CHAT_MESSAGES, CHAT_PARAMETERS, CHAT_TEXT, CHAT_TOOL_CHOICE, CHAT_TOOLS } from './chat.cases.ts';

/** The rules of the whole translation; another rule ensures `reasoning` and `include`. */
const TRANSLATION = RULES.filter(({ name }) => /^(translation|remote-mcp|tool-choice|audio|effort-alias|lift-instructions)$/.test(name));

testCases(TRANSLATION, [...CHAT_PARAMETERS, ...CHAT_TEXT, ...CHAT_MESSAGES, ...CHAT_TOOLS, ...CHAT_TOOL_CHOICE]);

test('[F5.7] a schema that nests too deep is refused where Chat has it', async () => {
  const parameters = JSON.parse(`${'{"properties":{"a":'.repeat(260)}{}${'}}'.repeat(260)}`) as Json;
  const refusal = await refusalBy(
    RULES.filter(({ name }) => name !== 'authenticate'),
    asksOnChat({ tools: [{ type: 'function', function: { name: 'f', parameters } }] }),
    { kind: 'chat' },
  );
  assert.deepEqual([refusal?.code, refusal?.error.param], ['invalid_function_parameters', 'tools.0.function.parameters']);
});

test('[D4] a hostile depth of tools, parts or messages is refused or passed, and never a fault', async () => {
  const deep = (depth: number): object => (depth === 0 ? {} : { type: 'object', properties: { a: deep(depth - 1) } });
  for (const members of [
    { tools: [{ type: 'function', function: { name: 'f', parameters: deep(200) } }] },
    { messages: Array.from({ length: 10_000 }, () => ({ role: 'user', content: 'a' })) },
    { messages: [{ role: 'user', content: Array.from({ length: 10_000 }, () => ({ type: 'text', text: 'a' })) }] },
  ]) {
    const { body } = await run(
      RULES.filter(({ name }) => name !== 'authenticate'),
      JSON.parse(JSON.stringify(asksOnChat(members as never))),
      { kind: 'chat' },
    );
    assert.ok(Array.isArray(body.input));
  }
});
