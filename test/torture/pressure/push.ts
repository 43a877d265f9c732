// A client that sends pieces as fast as they are read, and waits for an answer or for the end of the connection.
import { connect } from 'node:net';
import { Readable } from 'node:stream';

export interface Push {
  readonly pieces: Iterable<Buffer> | AsyncIterable<Buffer>;
  readonly signal: AbortSignal;
  /** Default: the first bytes of an answer. */
  readonly endsWith?: 'answer' | 'close';
}

/** The status of the answer, or how the connection ended. */
export type Pushed = string;

export function push(url: string, { pieces, signal, endsWith = 'answer' }: Push): Promise<Pushed> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) });
    const source = Readable.from(pieces, { objectMode: true, highWaterMark: 1 });
    const over = (how: Pushed): void => {
      signal.removeEventListener('abort', left);
      source.destroy();
      // Reset, because the gateway notices a normal close only when it has read everything before it.
      socket.resetAndDestroy();
      resolve(how);
    };
    const left = (): void => over('left');
    signal.addEventListener('abort', left, { once: true });
    if (signal.aborted) left();
    socket.on('data', (chunk: Buffer) => {
      if (endsWith === 'answer') over(/^HTTP\/1\.1 (\d+)/.exec(chunk.toString('latin1'))?.[1] ?? 'other');
    });
    socket.once('error', () => over('reset'));
    socket.once('close', () => over('closed'));
    source.on('error', left);
    source.pipe(socket, { end: false });
  });
}
