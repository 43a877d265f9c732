// The terminal of a command that refreshes its output: its size, the keys typed at it, and the time between two refreshes.
import { setInterval } from 'node:timers/promises';

export interface Terminal {
  readonly size: { readonly columns: number; readonly rows: number };
  /** Calls `listen` with each key, Ctrl-C as `\x03`; returns the undo. */
  onKey(listen: (key: string) => void): () => void;
}

/** Undefined unless both input and output are a terminal. */
export function terminalOf({ stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'>): Terminal | undefined {
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  return {
    get size() {
      // 0 where the terminal does not report a size.
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
