// Decodes the text of a custom call from the arguments of its function while they arrive: `{"input": TEXT}`, or the raw arguments (AA27,
// AA50).
import { asString, parsedObject } from '../../../turn/json/json.ts';

/** Matches the arguments before the text. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** Matches a beginning of the arguments that may still become `HEAD`. */
const MAYBE_HEAD = /^\s*(?:$|\{\s*(?:$|"(?:$|i(?:$|n(?:$|p(?:$|u(?:$|t(?:$|"\s*(?:$|:\s*$)))))))))/;

/** The longest white space before the text. It is limited because all of it is read again with each piece. */
const LONGEST_HEAD = 256;

/** Replaces a character whose escape has no valid code. */
const REPLACEMENT = 0xfffd;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

export class CustomInput {
  /** `raw`: the arguments are not such an object. */
  #state: 'head' | 'text' | 'ended' | 'raw' = 'head';
  #head = '';
  /** An escape of which a part has arrived. */
  #escape = '';
  /** The first of two escapes that together are one character. */
  #half = '';
  /** The decoded text so far, or the raw arguments. */
  #value = '';

  /** The text so far. It is complete after `end`. */
  get value(): string {
    return this.#value;
  }

  /** @returns the text that the piece adds */
  push(piece: string): string {
    if (this.#state === 'raw') {
      this.#head += piece;
      return '';
    }
    if (this.#state === 'ended') return '';
    if (this.#state === 'text') return this.#add(piece);
    this.#head += piece;
    const head = HEAD.exec(this.#head);
    if (head) {
      this.#state = 'text';
      return this.#add(this.#head.slice(head[0].length));
    }
    if (this.#head.length > LONGEST_HEAD || !MAYBE_HEAD.test(this.#head)) this.#state = 'raw';
    return '';
  }

  /** Called when the arguments have ended. @returns the rest of the text */
  end(): string {
    if (this.#state === 'text' || this.#state === 'ended') {
      const half = this.#half;
      this.#half = '';
      this.#value += half;
      return half;
    }
    this.#value = inputIn(this.#head) ?? this.#head;
    return this.#value;
  }

  #add(piece: string): string {
    let added = '';
    let from = 0;
    let at = 0;
    while (at < piece.length) {
      if (this.#escape !== '') {
        this.#escape += piece[at++];
        from = at;
        added += this.#escaped();
        continue;
      }
      const character = piece[at];
      if (character !== '"' && character !== '\\') {
        at += 1;
        continue;
      }
      added += this.#plain(piece.slice(from, at));
      at += 1;
      from = at;
      if (character === '"') {
        this.#state = 'ended';
        from = piece.length;
        break;
      }
      this.#escape = '\\';
    }
    added += this.#plain(piece.slice(from));
    this.#value += added;
    return added;
  }

  /** Returns plain text after an unfinished half of a character, which is kept alone because its other half does not follow. */
  #plain(text: string): string {
    if (text === '' || this.#half === '') return text;
    const half = this.#half;
    this.#half = '';
    return half + text;
  }

  /** The character of an escape that is complete; empty before. */
  #escaped(): string {
    const whole = this.#escape;
    const kind = whole[1] as string;
    if (kind !== 'u') {
      this.#escape = '';
      return this.#plain(ESCAPES[kind] ?? kind);
    }
    if (whole.length < 6) return '';
    this.#escape = '';
    const code = /^[\da-f]{4}$/i.test(whole.slice(2)) ? Number.parseInt(whole.slice(2), 16) : REPLACEMENT;
    const unit = String.fromCharCode(code);
    if (this.#half !== '' || !/[\ud800-\udbff]/.test(unit)) return this.#plain(unit);
    this.#half = unit;
    return '';
  }
}

/** The text, if it is at another place in the arguments; undefined if they have none. */
function inputIn(text: string): string | undefined {
  return asString(parsedObject(text)?.input);
}
