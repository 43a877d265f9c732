// Long strings of a large body are read in parts during a turn, with the same results as whole strings (Q38).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conversationOf } from '../../proxy/sessions/affinity.ts';
import { isObject, type Json, type JsonObject } from '../../proxy/turn/json/json.ts';
import { parseLargeJson } from '../../proxy/turn/json/large-json.ts';
import { writeLargeJson } from '../../proxy/turn/json/large-json-writer.ts';
import { longTextsOf } from '../../proxy/turn/json/long-texts.ts';
import { inputTokens } from '../../proxy/turn/token-estimate.ts';
import type { Body } from '../../proxy/turn/turn.ts';

const LONG = 1_000_000;

/** Strings as a client sends them, with their escapes. */
const TEXTS: readonly (readonly [string, string])[] = [
  ['plain', 'a'.repeat(LONG)],
  ['of characters of several bytes', `${'é☃'.repeat(LONG / 4)}end`],
  ['of characters of two units', `x${'😀'.repeat(LONG / 4)}`],
  ['of escaped characters of two units', `x${'\\ud83d\\ude00'.repeat(LONG / 12)}`],
  ['of escapes', '\\"\\\\\\n\\u0001'.repeat(LONG / 12)],
  ['that is a data URL', `data:image/png;base64,${'QUJD'.repeat(LONG / 4)}`],
];

async function parsed(text: string): Promise<JsonObject> {
  const bytes = Buffer.from(`{"instructions":"i","input":[{"role":"user","content":"${text}"},{"role":"user","content":"b"}]}`);
  const body = await parseLargeJson(bytes, { key: 'ci', maxValues: 1_000, signal: new AbortController().signal });
  assert.ok(isObject(body as Json));
  return body as JsonObject;
}

const contentOf = ({ input }: Body): string => ((input as readonly JsonObject[])[0] as JsonObject).content as string;

for (const [what, text] of TEXTS) {
  test(`[Q38] a long text ${what} is written, counted and hashed as in one piece`, async () => {
    // The body is a copy, as each attempt makes one.
    const body: Body = { ...(await parsed(text)) };
    const whole = JSON.parse(JSON.stringify(body)) as Body;
    const content = contentOf(body);
    const parts = longTextsOf(body)?.partsOf(content);
    assert.ok(parts === undefined || parts.length >= 3, `${parts?.length} parts`);
    assert.equal(parts?.join('') ?? content, contentOf(whole));
    assert.equal((await writeLargeJson(body, { key: 'ci', bytes: text.length })).toString(), JSON.stringify(whole));
    assert.equal(inputTokens(body), inputTokens(whole));
    assert.deepEqual(conversationOf(body), conversationOf(whole));
    assert.equal(longTextsOf(whole), undefined);
  });
}

test('[Q38] a long text has its parts, another text of its length has none, and small bodies have no such texts', async () => {
  const body = await parsed('a'.repeat(LONG));
  const texts = longTextsOf(body);
  assert.ok((texts?.partsOf(contentOf(body))?.length ?? 0) >= 3);
  assert.equal(texts?.partsOf('b'.repeat(LONG)), undefined);
  assert.equal(texts?.partsOf('b'), undefined);
  assert.equal(longTextsOf(await parsed('a')), undefined);
});
