// Operator log: one JSON line an event on stderr, of metadata only.
import type { Config } from './config/config.ts';

export type LogLevel = Config['log']['level'];

/** What a line may carry: numbers, ids, codes and labels; never text that a client or provider sent. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

const ORDER: Record<LogLevel, number> = { debug: 0, info: 1, warn: 2, error: 3 };

export class Log {
  level: LogLevel;
  readonly #write: (line: string) => void;

  constructor(level: LogLevel, write: (line: string) => void = (line) => void process.stderr.write(line)) {
    this.level = level;
    this.#write = write;
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
