// The terminal of a command that refreshes its output: its size, the keys typed at it, and the time between two refreshes.
import { setInterval } from 'node:timers/promises';

export interface Terminal {
  readonly size: { readonly columns: number; readonly rows: number };
  /** Calls `listen` with each key, and with `\x03` for Ctrl-C. Returns a function that ends it. */
  onKey(listen: (key: string) => void): () => void;
}

/** Undefined unless both input and output are a terminal. */
export function terminalOf({ stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'>): Terminal | undefined {
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  return {
    get size() {
      // The size is 0 if the terminal does not report it.
      return { columns: stdout.columns || 80, rows: stdout.rows || 24 };
    },
    onKey(listen) {
      const typed = (text: Buffer): void => listen(text.toString());
      stdin.setRawMode(true).on('data', typed).resume();
      return () => {
        stdin.off('data', typed).pause();
        stdin.setRawMode(false);
      };
    },
  };
}

export async function* every(ms: number, ended?: AbortSignal): AsyncGenerator<unknown> {
  try {
    yield* setInterval(ms, undefined, { signal: ended });
  } catch (thrown) {
    if (!ended?.aborted) throw thrown;
  }
}
