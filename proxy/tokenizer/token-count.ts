// Counts the tokens of one text, in pieces whose cost is bounded.
import { clearMergeCache, countTokens } from 'gpt-tokenizer/encoding/o200k_base';

/** The characters of a piece. The tokenizer takes quadratic time for one long word, which for a piece of this size is about 10 ms. */
const PIECE = 2_048;
/** A piece ends with its line if the line ends within this many further characters, because a cut there does not change the count. */
const REST_OF_LINE = 1_024;
/** Special tokens in the text count as text. */
const PLAIN_TEXT = { disallowedSpecial: new Set<string>() };

/** Undefined if `inTime` returns false before the end. */
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
    // The entries of the cache are parts of the text, and would keep the whole text in memory.
    clearMergeCache();
  }
}

function pieceEnd(text: string, from: number): number {
  const end = from + PIECE;
  if (end >= text.length) return text.length;
  const line = text.slice(end, end + REST_OF_LINE).search(/\n(?=[ \t]*[^\s/])/);
  if (line !== -1) return end + line + 1;
  // A cut is never between the halves of one character.
  return /[\uD800-\uDBFF]/.test(text[end - 1] ?? '') ? end + 1 : end;
}
