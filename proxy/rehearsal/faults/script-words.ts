// The words of one fault in a fault script, read from left to right.

/** Thrown if the script breaks the grammar. The message names the place. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

const LONGEST_NAME = 11;

export class WordReader {
  readonly #words: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#words = text.split(/\s+/).filter((word) => word !== '');
  }

  /** The beginning of the first word, to name a fault in a message. Longer parts of a prompt are removed from the errors of accounts. */
  get name(): string {
    return (this.#words[0] ?? '').slice(0, LONGEST_NAME);
  }

  get atEnd(): boolean {
    return this.#at === this.#words.length;
  }

  /** Reads the phrase if it comes next. */
  take(phrase: string): boolean {
    const wanted = phrase.split(' ');
    if (!wanted.every((word, i) => this.#words[this.#at + i]?.toLowerCase() === word)) return false;
    this.#at += wanted.length;
    return true;
  }

  /** Reads the next word if it matches. */
  match(pattern: RegExp): string | undefined {
    const word = this.#words[this.#at];
    if (word === undefined || !pattern.test(word)) return undefined;
    this.#at += 1;
    return word;
  }

  number(): number | undefined {
    const word = this.match(/^\d{1,9}$/);
    return word === undefined ? undefined : Number(word);
  }

  /** @throws ScriptError if no number comes next */
  requiredNumber(): number {
    return this.number() ?? syntaxError();
  }
}

export function syntaxError(): never {
  throw new ScriptError('syntax error');
}
