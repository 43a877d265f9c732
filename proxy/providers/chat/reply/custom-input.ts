// Decodes the text of a lowered custom call out of its arguments while they come: `{"input": TEXT}`, or the raw arguments (AA27, AA50).
import { isObject } from '../../../turn/json/json.ts';

/** Everything before the text. */
const HEAD = /^\s*\{\s*"input"\s*:\s*"/;
/** A beginning that may still become that. */
const MAYBE_HEAD = /^\s*(?:$|\{\s*(?:$|"(?:$|i(?:$|n(?:$|p(?:$|u(?:$|t(?:$|"\s*(?:$|:\s*$)))))))))/;

/** White space without end would be read again with each piece. */
const LONGEST_HEAD = 256;

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

export class CustomInput {
  /** `raw`: the arguments are no such object. */
  #state: 'head' | 'text' | 'ended' | 'raw' = 'head';
  #head = '';
  /** An escape that has not come whole. */
  #escape = '';
  /** The first half of a pair of escapes for one character. */
  #half = '';
  /** What has been decoded, or the raw arguments. */
  #value = '';

  /** The text as far as it came; whole after `end`. */
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

  /** The arguments ended. @returns the rest of the text */
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

  /** A half of a character is no character if its other half does not follow. */
  #plain(text: string): string {
    if (text === '' || this.#half === '') return text;
    const half = this.#half;
    this.#half = '';
    return half + text;
  }

  /** The character of an escape that is whole now; empty before. */
  #escaped(): string {
    const whole = this.#escape;
    const kind = whole[1] as string;
    if (kind !== 'u') {
      this.#escape = '';
      return this.#plain(ESCAPES[kind] ?? kind);
    }
    if (whole.length < 6) return '';
    this.#escape = '';
    const unit = String.fromCharCode(Number.parseInt(whole.slice(2), 16) || 0xfffd);
    if (this.#half !== '' || !/[\ud800-\udbff]/.test(unit)) return this.#plain(unit);
    this.#half = unit;
    return '';
  }
}

/** The text of arguments that have it in another place; undefined if they have none. */
function inputIn(text: string): string | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) && typeof json.input === 'string' ? json.input : undefined;
  } catch {
    return undefined;
  }
}
