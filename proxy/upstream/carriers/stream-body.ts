// Bodies of replies that are Node streams: read as bytes, and limited in silence.
import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { ByteReader } from './carrier.ts';

/** Delivers the body to its reader: `end` if it came whole, else `fail`. */
export function readBytes(reply: IncomingMessage, reader: ByteReader, idleMs: number): void {
  let silent = false;
  limitSilence(reply, { ms: idleMs, timedOut: () => (silent = true) });
  reply.on('data', (chunk: Buffer) => reader.data(chunk)).on('error', () => undefined);
  reply.once('close', () => {
    // A body that ends with its connection counts as complete however that ended.
    if (reply.complete && !silent) reader.end();
    else reader.fail(silent ? 'idle' : 'network');
  });
}

export interface SilenceLimit {
  readonly ms: number;
  /** The destination of the reply: while it is full, the account does not count as silent. */
  readonly reader?: Writable;
  /** Called once, before the reply is destroyed. */
  readonly timedOut: () => void;
}

/** Destroys a reply that is silent for too long. To be called together with the attachment of the reply's reader: it sets the reply flowing. */
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
