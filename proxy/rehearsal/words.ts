// The words of a fault script, read from the left.

/** A script that does not follow the grammar; the message quotes the clause that was not understood. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

/** The words of one fault, consumed from the left. */
export class Words {
  private readonly words: readonly string[];
  private at = 0;

  constructor(text: string) {
    this.words = text.split(/\s+/).filter((word) => word !== '');
  }

  get done(): boolean {
    return this.at === this.words.length;
  }

  /** Consumes the phrase when it comes next. */
  take(phrase: string): boolean {
    const wanted = phrase.split(' ');
    if (!wanted.every((word, i) => this.words[this.at + i]?.toLowerCase() === word)) return false;
    this.at += wanted.length;
    return true;
  }

  /** Consumes the next word when it matches. */
  match(pattern: RegExp): string | undefined {
    const word = this.words[this.at];
    if (word === undefined || !pattern.test(word)) return undefined;
    this.at += 1;
    return word;
  }

  number(): number | undefined {
    const word = this.match(/^\d{1,9}$/);
    return word === undefined ? undefined : Number(word);
  }

  /** A number that must follow, or the clause is not understood. */
  needNumber(): number {
    return this.number() ?? notUnderstood();
  }
}

/** Ends the reading of a clause. */
export function notUnderstood(): never {
  throw new ScriptError('not understood');
}
