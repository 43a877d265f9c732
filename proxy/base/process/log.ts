// The operator log: one JSON line per event on stderr, with metadata only. If its reader stops reading, a limited number of lines waits.

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Numbers, ids, codes and labels. Text from a client or provider is not allowed (S4). */
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>;

const ORDER: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

export class Log {
  level: LogLevel;
  readonly #write: (line: string) => void;

  constructor(level: LogLevel, write: (line: string) => void = logOutput(process.stderr)) {
    this.level = level;
    this.#write = write;
  }

  /** Whether debug lines are written. Callers check this before they build the fields of a line per turn. */
  get debugs(): boolean {
    return this.level === 'debug';
  }

  debug(event: string, fields?: LogFields): void {
    this.#line('debug', event, fields);
  }

  info(event: string, fields?: LogFields): void {
    this.#line('info', event, fields);
  }

  warn(event: string, fields?: LogFields): void {
    this.#line('warn', event, fields);
  }

  error(event: string, fields?: LogFields): void {
    this.#line('error', event, fields);
  }

  #line(level: LogLevel, event: string, fields: LogFields = {}): void {
    if (ORDER[level] < ORDER[this.level]) return;
    this.#write(`${JSON.stringify({ at: new Date().toISOString(), level, event, ...fields })}\n`);
  }
}

const DEPENDENCY = /\/(node_modules\/[\w@./-]+:\d+)/;
/** Matches from the last such folder in a path, because the project may be installed below a folder of the same name. */
const OWN_FILE = /.*\/((?:proxy|rules|store)\/[\w./-]+:\d+)/;

/**
 * The class, the code and the source location of an unexpected error. Its message is left out, because it may quote a client or a provider
 * (S4).
 */
export function placeOf(thrown: unknown): LogFields {
  if (!(thrown instanceof Error)) return { thrown: typeof thrown };
  const { name, message, stack } = thrown;
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
  const frames = typeof stack === 'string' ? stack.slice(stack.indexOf(message) + message.length) : '';
  const places = frames.split('\n').flatMap((line) => (DEPENDENCY.exec(line) ?? OWN_FILE.exec(line))?.[1] ?? []);
  return { thrown: name, code, place: places[0] };
}

/** The part of a writable stream that the log needs. */
export interface LogStream {
  write(text: string): unknown;
  /** The bytes that wait. */
  readonly writableLength: number;
}

/** The most bytes that wait, which are about 80,000 lines. */
const MOST_WAITING_BYTES = 16_777_216;

/**
 * Makes the function that writes a line. If too many lines wait, it drops and counts the line. The first line after a loss states how many
 * were lost.
 */
export function logOutput(stream: LogStream): (line: string) => void {
  let lost = 0;
  return (line) => {
    if (stream.writableLength > MOST_WAITING_BYTES) {
      lost += 1;
      return;
    }
    if (lost > 0)
      stream.write(`${JSON.stringify({ at: new Date().toISOString(), level: 'warn', event: 'log_lines_lost', lines: lost })}\n`);
    lost = 0;
    stream.write(line);
  };
}
