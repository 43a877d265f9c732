// The parts of the long strings of a large body. V8 joins the parts of a string when one of its characters is first read, and copies all of
// it at once: for 70 MB this stops the event loop for up to a third of a second. Steps that all turns pass read the parts instead (Q38).

/** A member of the parsed body and of its copies. It is a symbol, so that no JSON can have it. */
export const LONG_TEXTS: unique symbol = Symbol('long texts');

interface LongText {
  readonly text: string;
  readonly parts: readonly string[];
}

export class LongTexts {
  /** Texts by their length. If several have the same length only the first is kept, because comparing two texts would read both. */
  readonly #byLength = new Map<number, LongText>();

  /** Joins the parts, and keeps them for `partsOf`. */
  join(parts: readonly string[]): string {
    // `Array.join` would copy the parts.
    const text = parts.reduce((joined, part) => joined + part, '');
    const isKept = parts.length > 1 && !this.#byLength.has(text.length) && !parts.some((part, i) => splits(parts[i - 1], part));
    if (isKept) this.#byLength.set(text.length, { text, parts });
    return text;
  }

  get isEmpty(): boolean {
    return this.#byLength.size === 0;
  }

  /** The parts of a text. Undefined for a text that is not divided. */
  partsOf(text: string): readonly string[] | undefined {
    const known = this.#byLength.get(text.length);
    return known?.text === text ? known.parts : undefined;
  }
}

/** The long texts of a body; undefined for most bodies. */
export const longTextsOf = (body: object): LongTexts | undefined => (body as { readonly [LONG_TEXTS]?: LongTexts })[LONG_TEXTS];

/** Whether a character is divided between two parts. A single half would be written as an escape. */
const splits = (before: string | undefined, part: string): boolean =>
  before !== undefined && (before.charCodeAt(before.length - 1) & 0xfc00) === 0xd800 && (part.charCodeAt(0) & 0xfc00) === 0xdc00;
