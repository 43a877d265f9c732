// Ends a reply whose account has fallen silent, but not one that only waits for its reader.
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';

export interface SilenceWatch {
  readonly ms: number;
  /** Who takes the reply: while that is slow, the account is not silent. */
  readonly reader?: Writable;
  /** Called once, before the reply is destroyed. */
  readonly silent: () => void;
}

/** To be called where the reply's reader is attached, not before: it sets the reply flowing. Ends with the reply. */
export function watchSilence(reply: IncomingMessage, { ms, reader, silent }: SilenceWatch): void {
  if (reply.closed) return;
  const fire = (): void => {
    if (reader?.writableNeedDrain) {
      timer.refresh();
      return;
    }
    silent();
    reply.destroy(new Error('silent'));
  };
  const timer = setTimeout(fire, ms);
  const heard = (): void => void timer.refresh();
  reader?.on('drain', heard);
  reply.on('data', heard).once('close', () => {
    clearTimeout(timer);
    reader?.off('drain', heard);
  });
}
