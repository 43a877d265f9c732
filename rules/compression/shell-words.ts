// Parses a POSIX shell command line into its pipelines: the words of each simple command, with quotes and escapes resolved.

/** A word; undefined if the shell computes it by a substitution, a variable or a pattern. */
export type ShellWord = string | undefined;

/** The words of one simple command; redirections, comments and here-documents are left out. */
export type SimpleCommand = readonly ShellWord[];

/** Commands that are connected by `|`. */
export type Pipeline = readonly SimpleCommand[];

const MOST_CHARACTERS = 16_384;
const DEEPEST_SUBSTITUTION = 32;
const BLANK = /[ \t\r]/;
const ENDS_WORD = /[ \t\r\n;&|()<>]/;
/** Characters that, outside quotes, make the shell compute a word. */
const EXPANDS = /[*?[{]/;
/** Characters of a word that have no special meaning. */
const PLAIN = /[^\s;&|()<>'"\\$`*?[{]+/y;

/** Undefined if the text is not a complete command line, or is too long to be read. */
export function readShell(source: string): readonly Pipeline[] | undefined {
  if (source.length > MOST_CHARACTERS) return undefined;
  try {
    return new ShellReader(source).pipelines();
  } catch (thrown) {
    if (thrown instanceof Unreadable) return undefined;
    throw thrown;
  }
}

class Unreadable extends Error {}

class ShellReader {
  readonly #source: string;
  #at = 0;
  readonly #pipelines: Pipeline[] = [];
  #pipeline: SimpleCommand[] = [];
  #command: ShellWord[] = [];
  /** Delimiters of the here-documents that begin at the next line. */
  readonly #documents: { readonly delimiter: string; readonly indented: boolean }[] = [];

  constructor(source: string) {
    this.#source = source;
  }

  pipelines(): readonly Pipeline[] {
    while (this.#at < this.#source.length) this.#next();
    this.#endPipeline();
    return this.#pipelines;
  }

  #next(): void {
    const c = this.#peek();
    if (BLANK.test(c)) this.#at++;
    else if (this.#starts('\\\n')) this.#at += 2;
    else if (c === '\n') {
      this.#at++;
      this.#endPipeline();
      this.#skipDocuments();
    } else if (c === '#') this.#skipLine();
    else if (c === '<' || c === '>' || this.#starts('&>')) this.#redirect();
    else if (c === '|' && !this.#starts('||')) {
      this.#at += this.#starts('|&') ? 2 : 1;
      this.#endCommand();
    } else if (/[;&|()]/.test(c)) {
      this.#at += this.#starts('||') || this.#starts('&&') ? 2 : 1;
      this.#endPipeline();
    } else this.#command.push(this.#word());
  }

  #endCommand(): void {
    if (this.#command.length > 0) this.#pipeline.push(this.#command);
    this.#command = [];
  }

  #endPipeline(): void {
    this.#endCommand();
    if (this.#pipeline.length > 0) this.#pipelines.push(this.#pipeline);
    this.#pipeline = [];
  }

  /** Skips a redirection and its target. A number right before it is a descriptor, not an argument. */
  #redirect(): void {
    const last = this.#command.at(-1);
    if (last !== undefined && /^\d$/.test(last) && this.#source[this.#at - 1] === last) this.#command.pop();
    if (this.#starts('<(') || this.#starts('>(')) {
      this.#at += 2;
      this.#skipSubstitution(0);
      this.#command.push(undefined);
      return;
    }
    const operator = /^(?:&>>?|<<-|<<<|<<|<&|<>|>>|>&|>\||[<>])/.exec(this.#source.slice(this.#at, this.#at + 3))?.[0] ?? '';
    this.#at += operator.length;
    while (BLANK.test(this.#peek())) this.#at++;
    const target = this.#word();
    if (operator === '<<' || operator === '<<-') {
      if (target === undefined) throw new Unreadable();
      this.#documents.push({ delimiter: target, indented: operator === '<<-' });
    }
  }

  #skipDocuments(): void {
    for (const { delimiter, indented } of this.#documents.splice(0)) {
      let line: string;
      do {
        if (this.#at >= this.#source.length) throw new Unreadable();
        const end = this.#source.indexOf('\n', this.#at);
        line = this.#source.slice(this.#at, end === -1 ? undefined : end);
        this.#at = end === -1 ? this.#source.length : end + 1;
      } while ((indented ? line.replace(/^\t+/, '') : line) !== delimiter);
    }
  }

  #word(): ShellWord {
    let text = '';
    let computed = false;
    const start = this.#at;
    while (this.#at < this.#source.length) {
      PLAIN.lastIndex = this.#at;
      const plain = PLAIN.exec(this.#source)?.[0] ?? '';
      text += plain;
      this.#at += plain.length;
      const c = this.#peek();
      if (c === '' || ENDS_WORD.test(c)) break;
      this.#at++;
      if (c === "'") text += this.#until("'");
      else if (c === '"') {
        const quoted = this.#doubleQuoted(0);
        text += quoted ?? '';
        computed ||= quoted === undefined;
      } else if (c === '\\') text += this.#escaped();
      else if (c === '$' && this.#peek() === "'") {
        this.#at++;
        text += this.#ansiQuoted();
      } else if (c === '$' || c === '`') {
        this.#skipExpansion(c, 0);
        computed = true;
      } else {
        computed ||= EXPANDS.test(c);
        text += c;
      }
    }
    // A word of a single bracket is the command `[` or a group.
    return computed && this.#at - start > 1 ? undefined : text;
  }

  /** The text in double quotes; undefined if the shell computes a part of it. */
  #doubleQuoted(depth: number): string | undefined {
    let text = '';
    let computed = false;
    for (;;) {
      const c = this.#take();
      if (c === '"') return computed ? undefined : text;
      if (c === '\\') text += /[$`"\\\n]/.test(this.#peek()) ? this.#escaped() : c;
      else if (c === '$' || c === '`') {
        this.#skipExpansion(c, depth);
        computed = true;
      } else text += c;
    }
  }

  /** Skips an expansion after a dollar sign or a backquote. */
  #skipExpansion(opening: string, depth: number): void {
    if (depth > DEEPEST_SUBSTITUTION) throw new Unreadable();
    if (opening === '`') {
      for (let c = this.#take(); c !== '`'; c = this.#take()) if (c === '\\') this.#take();
    } else if (this.#peek() === '(') {
      this.#at++;
      this.#skipSubstitution(depth + 1);
    } else if (this.#peek() === '{') {
      for (let c = this.#take(); c !== '}'; c = this.#take()) {
        if (c === '\\') this.#take();
        else if (c === "'") this.#until("'");
        else if (c === '"') this.#doubleQuoted(depth + 1);
      }
    } else while (/\w/.test(this.#peek())) this.#at++;
  }

  /** Skips to the parenthesis that closes a substitution. */
  #skipSubstitution(depth: number): void {
    for (let open = 1; open > 0; ) {
      const c = this.#take();
      if (c === '(') open++;
      else if (c === ')') open--;
      else if (c === '\\') this.#take();
      else if (c === "'") this.#until("'");
      else if (c === '"') this.#doubleQuoted(depth);
      else if (c === '`') this.#skipExpansion(c, depth);
    }
  }

  #escaped(): string {
    const c = this.#take();
    return c === '\n' ? '' : c;
  }

  #ansiQuoted(): string {
    let text = '';
    for (let c = this.#take(); c !== "'"; c = this.#take()) {
      if (c !== '\\') text += c;
      else {
        const code = this.#take();
        // An octal, hexadecimal or control escape could spell any name.
        if (/[0-7xuUc]/.test(code)) throw new Unreadable();
        text += { n: '\n', t: '\t', r: '\r' }[code] ?? code;
      }
    }
    return text;
  }

  #until(quote: string): string {
    const end = this.#source.indexOf(quote, this.#at);
    if (end === -1) throw new Unreadable();
    const text = this.#source.slice(this.#at, end);
    this.#at = end + 1;
    return text;
  }

  #skipLine(): void {
    const end = this.#source.indexOf('\n', this.#at);
    this.#at = end === -1 ? this.#source.length : end;
  }

  #take(): string {
    const c = this.#source[this.#at++];
    if (c === undefined) throw new Unreadable();
    return c;
  }

  /** The next character; empty at the end. */
  #peek(): string {
    return this.#source[this.#at] ?? '';
  }

  #starts(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }
}
