// Writes log lines to a stream that may stop taking data: a limited number of lines waits, and further ones are dropped and counted.

/** The part of a writable stream that is needed. */
export interface LogStream {
  write(text: string): unknown;
  /** Bytes that wait. */
  readonly writableLength: number;
}

/** About 80,000 lines. */
const MOST_WAITING_BYTES = 16_777_216;

/** @returns the function that writes one line, or loses it; the first line after a loss states how many were lost */
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
