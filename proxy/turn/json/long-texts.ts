// The parts of the long strings of a large body. V8 keeps a string that was joined of parts as it is until a character of it is read, and
// then copies all of it at once: 70 MB stop the event loop for up to a third of a second. Steps that all turns pass read the parts (Q38).

/** A member of the parsed body, which its copies have too; no JSON has it. */
export const LONG_TEXTS: unique symbol = Symbol('long texts');

interface LongText {
  readonly text: string;
  readonly parts: readonly string[];
}

export class LongTexts {
  /** Texts by their length. Of several with the same length only the first, because comparing two texts would read both. */
  readonly #byLength = new Map<number, LongText>();

  /** Joins the parts, and keeps them for `partsOf`. */
  join(parts: readonly string[]): string {
    // Not `join`, which copies them.
    const text = parts.reduce((joined, part) => joined + part, '');
    const isKept = parts.length > 1 && !this.#byLength.has(text.length) && !parts.some((part, i) => splits(parts[i - 1], part));
    if (isKept) this.#byLength.set(text.length, { text, parts });
    return text;
  }

  get isEmpty(): boolean {
    return this.#byLength.size === 0;
  }

  /** Undefined for a text that is in one piece. */
  partsOf(text: string): readonly string[] | undefined {
    const known = this.#byLength.get(text.length);
    return known?.text === text ? known.parts : undefined;
  }
}

/** The long texts of a body; undefined for most bodies. */
export const longTextsOf = (body: object): LongTexts | undefined => (body as { readonly [LONG_TEXTS]?: LongTexts })[LONG_TEXTS];

/** Whether the halves of one character are in two parts: alone, each would be written as an escape. */
const splits = (before: string | undefined, part: string): boolean =>
  before !== undefined && (before.charCodeAt(before.length - 1) & 0xfc00) === 0xd800 && (part.charCodeAt(0) & 0xfc00) === 0xdc00;
