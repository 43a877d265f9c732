// Token counts in pieces equal those of the tokenizer, at a bounded cost for hostile texts (F7.6).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { tokensOfText } from '../../proxy/tokenizer/token-count.ts';
import { CORPUS_FILES, corpusText } from '../support/compression.ts';

const always = (): boolean => true;

test('[F7.6] the counts of real tool output are those of the tokenizer', () => {
  for (const file of CORPUS_FILES) assert.equal(tokensOfText(corpusText(file), always), countTokens(corpusText(file)), file);
  assert.equal(tokensOfText('', always), 0);
});

test('the text of a special token is counted as text', () => {
  assert.ok((tokensOfText('<|endoftext|>', always) ?? 0) > 1);
});

test('a long run is cut, so that it is counted within a few tokens and never between the halves of a character', () => {
  for (const text of ['a'.repeat(5_000), '😀'.repeat(3_000), ' '.repeat(5_000), '\n'.repeat(5_000)]) {
    const [counted, exact] = [tokensOfText(text, always) ?? 0, countTokens(text)];
    assert.ok(Math.abs(counted - exact) <= 4, `${counted} instead of ${exact}`);
  }
});

test('a count that takes too long is given up between two pieces', () => {
  let asked = 0;
  assert.equal(
    tokensOfText('a'.repeat(1_000_000), () => ++asked < 3),
    undefined,
  );
  assert.equal(asked, 3);
});
