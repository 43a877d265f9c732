// Reply bodies that are Node streams: they are read as bytes, with a limit on silence.
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { ByteReader } from './carrier.ts';

/** Delivers the body to its reader. Then calls `end` if the body was complete, otherwise `fail`. */
export function readBytes(reply: IncomingMessage, reader: ByteReader, idleMs: number): void {
  let silent = false;
  limitSilence(reply, { ms: idleMs, timedOut: () => (silent = true) });
  reply.on('data', (chunk: Buffer) => reader.data(chunk)).on('error', () => undefined);
  reply.once('close', () => {
    // A body that ends with its connection counts as complete, whether the connection was closed or reset.
    if (reply.complete && !silent) reader.end();
    else reader.fail(silent ? 'idle' : 'network');
  });
}

export interface SilenceLimit {
  readonly ms: number;
  /** The destination of the reply. While it is full, the account does not count as silent. */
  readonly reader?: Writable;
  /** Called once, before the reply is destroyed. */
  readonly timedOut: () => void;
}

/** Destroys a reply that is silent for too long. Call it when the reply's reader is attached, because it makes the reply flow. */
export function limitSilence(reply: IncomingMessage, { ms, reader, timedOut }: SilenceLimit): void {
  if (reply.closed) return;
  const fire = (): void => {
    if (reader?.writableNeedDrain) {
      timer.refresh();
      return;
    }
    timedOut();
    reply.destroy(new Error('silent'));
  };
  const timer = setTimeout(fire, ms);
  const refresh = (): void => void timer.refresh();
  reader?.on('drain', refresh);
  reply.on('data', refresh).once('close', () => {
    clearTimeout(timer);
    reader?.off('drain', refresh);
  });
}
