// Counts the tokens of one text, in pieces of bounded cost.
import { clearMergeCache, countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** Characters. The tokenizer takes quadratic time on one long word: a piece of this size takes it about 10 ms at worst. */
const PIECE = 2_048;
/** How much further a piece may go to end with its line, where the cut does not change the count. */
const REST_OF_LINE = 1_024;
/** The text of a special token is text like any other. */
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/** Undefined where `inTime` is false before the end. */
export function tokensOfText(text: string, inTime: () => boolean): number | undefined {
  try {
    let tokens = 0;
    for (let at = 0; at < text.length; ) {
      if (!inTime()) return undefined;
      const end = pieceEnd(text, at);
      tokens += countTokens(text.slice(at, end), PLAIN_TEXT);
      at = end;
    }
    return tokens;
  } finally {
    // Its entries are parts of the text, and would keep the whole text in memory.
    clearMergeCache();
  }
}

function pieceEnd(text: string, from: number): number {
  const end = from + PIECE;
  if (end >= text.length) return text.length;
  const line = text.slice(end, end + REST_OF_LINE).search(/\n(?=[ \t]*[^\s/])/);
  if (line !== -1) return end + line + 1;
  // Never cuts between the halves of one character.
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end + 1 : end;
}
