// Takes the reasoning out of a leading `<think>…</think>` of the text, wherever the tags are cut (AA52).
import type { ContentText } from './chunk.ts';

const OPENING = '<think>';
const CLOSING = '</think>';

/** The longest white space before the tag. It is limited because all of it is read again with each piece. */
const LONGEST_BEGINNING = 256;

export class ThinkTags {
  #state: 'before' | 'inside' | 'behind' | 'text' = 'before';
  /** Text that may be the beginning of a tag. */
  #held = '';

  push(text: string): ContentText {
    let thought = '';
    let rest = this.#held + text;
    this.#held = '';
    if (this.#state === 'before') {
      const begun = rest.trimStart();
      if (begun.startsWith(OPENING)) {
        this.#state = 'inside';
        rest = begun.slice(OPENING.length);
      } else if (OPENING.startsWith(begun) && rest.length <= LONGEST_BEGINNING) {
        this.#held = rest;
        return { text: '', thought };
      } else this.#state = 'text';
    }
    if (this.#state === 'inside') {
      const end = rest.indexOf(CLOSING);
      if (end === -1) {
        const kept = beginningAtEnd(rest, CLOSING);
        this.#held = rest.slice(rest.length - kept);
        return { text: '', thought: rest.slice(0, rest.length - kept) };
      }
      thought = rest.slice(0, end);
      rest = rest.slice(end + CLOSING.length);
      this.#state = 'behind';
    }
    if (this.#state === 'behind') {
      rest = rest.trimStart();
      if (rest !== '') this.#state = 'text';
    }
    return { text: rest, thought };
  }

  /** The text ended: what was held was no tag. */
  end(): ContentText {
    const held = this.#held;
    this.#held = '';
    if (held === '') return { text: '', thought: '' };
    return this.#state === 'inside' ? { text: '', thought: held } : { text: held, thought: '' };
  }
}

/** The number of characters at the end of the text that may begin the tag. */
function beginningAtEnd(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) if (text.endsWith(tag.slice(0, length))) return length;
  return 0;
}
