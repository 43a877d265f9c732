// The fault script: the language that names faults in `metadata.rehearse` of a request and in tests.
//
//   script   clause ; clause ; …           each clause for every account, or for one:  north: refuse 503; south: pace 40
//   clause   fault + fault + …             combined in one reply:                      cr framing + cut after 3 events
//
//   refuse STATUS [CODE] [retry N] [resets N]       an error answer; Retry-After and resets_at, in seconds from now
//   refuse inside [CODE] [as error | as failed] [after N events]        a refusal in a 200
//   cut POSITION    reset POSITION                  ends the connection; POSITION: before headers | after headers | after N events | after N bytes
//   stall POSITION [for N ms]                       pauses the reply, without a time until the client leaves
//   malformed event [N]    empty output    no terminal
//   cr framing    crlf framing    drip [N bytes] [every N ms]    pace N ms
//   steady                                          no fault, whatever the account's profile
import type { Fault, ReplyPosition } from './fault.ts';

/** The script breaks the grammar; the message quotes the clause. */
export class ScriptError extends Error {
  override readonly name = 'ScriptError';
}

/**
 * The faults that a script has for one account: those of the clauses that name it, or else of the clauses that name none.
 * Undefined where the script has no clause for it; an empty list for `steady`.
 * @throws ScriptError when a clause of any account breaks the grammar
 */
export function readScript(script: string, account: string): readonly Fault[] | undefined {
  let own: Fault[] | undefined;
  let general: Fault[] | undefined;
  for (const clause of script.split(';')) {
    if (clause.trim() === '') continue;
    const [, name, text = ''] = /^\s*(?:([\w.-]+)\s*:)?(.*)$/s.exec(clause) ?? [];
    const faults = readClause(text);
    if (name === undefined) general = [...(general ?? []), ...faults];
    else if (name === account) own = [...(own ?? []), ...faults];
  }
  return own ?? general;
}

function readClause(text: string): readonly Fault[] {
  try {
    return text
      .split('+')
      .map(readFault)
      .filter((fault) => fault !== undefined);
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    throw new ScriptError(`The rehearsal script has a syntax error at "${text.trim().slice(0, 80)}".`);
  }
}

function readFault(text: string): Fault | undefined {
  const words = new WordReader(text);
  const name = words.match(/^[a-z]+$/i)?.toLowerCase();
  if (name === 'steady' && words.atEnd) return undefined;
  const read = name !== undefined && Object.hasOwn(READERS, name) ? READERS[name] : undefined;
  const fault = read?.(words);
  return fault !== undefined && words.atEnd ? fault : syntaxError();
}

/** The words of one fault, read from left to right. */
class WordReader {
  readonly #words: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#words = text.split(/\s+/).filter((word) => word !== '');
  }

  get atEnd(): boolean {
    return this.#at === this.#words.length;
  }

  /** Reads the phrase where it comes next. */
  take(phrase: string): boolean {
    const wanted = phrase.split(' ');
    if (!wanted.every((word, i) => this.#words[this.#at + i]?.toLowerCase() === word)) return false;
    this.#at += wanted.length;
    return true;
  }

  /** Reads the next word where it matches. */
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

  /** @throws ScriptError where no number comes next */
  requiredNumber(): number {
    return this.number() ?? syntaxError();
  }
}

function syntaxError(): never {
  throw new ScriptError('syntax error');
}

/** By the fault's first word. A reader returns undefined, or throws, on a syntax error. */
const READERS: Readonly<Record<string, (words: WordReader) => Fault | undefined>> = {
  refuse: (words) => (words.take('inside') ? refuseInside(words) : refuse(words)),
  cut: (words) => ({ kind: 'cut', at: position(words), how: 'close' }),
  reset: (words) => ({ kind: 'cut', at: position(words), how: 'reset' }),
  stall: (words) => {
    const at = position(words);
    return words.take('for') ? { kind: 'stall', at, ms: milliseconds(words) } : { kind: 'stall', at };
  },
  malformed: (words) => {
    if (!words.take('event')) return undefined;
    const event = words.number();
    return event === undefined ? { kind: 'malformed' } : { kind: 'malformed', event };
  },
  empty: (words) => (words.take('output') ? { kind: 'empty-output' } : undefined),
  no: (words) => (words.take('terminal') ? { kind: 'no-terminal' } : undefined),
  cr: (words) => (words.take('framing') ? { kind: 'framing', newline: 'cr' } : undefined),
  crlf: (words) => (words.take('framing') ? { kind: 'framing', newline: 'crlf' } : undefined),
  drip: (words) => {
    const bytes = words.number();
    if (bytes !== undefined && (bytes === 0 || !(words.take('bytes') || words.take('byte')))) return undefined;
    const pause = words.take('every') ? { ms: milliseconds(words) } : {};
    return { kind: 'drip', bytes: bytes ?? 1, ...pause };
  },
  pace: (words) => ({ kind: 'pace', ms: milliseconds(words) }),
};

function refuse(words: WordReader): Fault | undefined {
  const status = words.requiredNumber();
  if (status < 400 || status > 599) return undefined;
  const code = codeOf(words);
  const retryAfter = words.take('retry') ? words.requiredNumber() : undefined;
  const resetsIn = words.take('resets') ? words.requiredNumber() : undefined;
  return {
    kind: 'refuse',
    status,
    ...(code === undefined ? {} : { code }),
    ...(retryAfter === undefined ? {} : { retryAfter }),
    ...(resetsIn === undefined ? {} : { resetsIn }),
  };
}

function refuseInside(words: WordReader): Fault {
  const code = codeOf(words);
  const as = words.take('as error') ? 'error' : 'response.failed';
  words.take('as failed');
  const after = words.take('after') ? eventCount(words) : undefined;
  return { kind: 'refuse-inside', as, ...(code === undefined ? {} : { code }), ...(after === undefined ? {} : { after }) };
}

function codeOf(words: WordReader): string | undefined {
  return words.match(/^(?!retry$|resets$|as$|after$)[a-z][a-z0-9_.]*$/);
}

function eventCount(words: WordReader): number {
  const events = words.requiredNumber();
  return words.take('events') || words.take('event') ? events : syntaxError();
}

function milliseconds(words: WordReader): number {
  const ms = words.requiredNumber();
  words.take('ms');
  return ms;
}

function position(words: WordReader): ReplyPosition {
  if (words.take('before headers')) return 'before-headers';
  if (words.take('after headers')) return 'after-headers';
  if (!words.take('after')) return syntaxError();
  const count = words.requiredNumber();
  if (words.take('events') || words.take('event')) return { events: count };
  return words.take('bytes') || words.take('byte') ? { bytes: count } : syntaxError();
}
