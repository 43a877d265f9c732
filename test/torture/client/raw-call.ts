// A client that sends bytes whole or in pieces, leaves in one of several ways, and keeps all bytes that arrive until its deadline.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { PATIENCE_MS } from '../stage/settings.ts';
import { type Read, readAnswers } from './answers.ts';

export interface RawRequest {
  /** The pieces. Each is written separately. */
  readonly pieces: readonly Buffer[];
  /** Whether the client leaves after the last piece, by ending its side or by a reset. */
  readonly leaves: 'never' | 'end' | 'reset';
  /** The client waits for this after the last piece before it leaves. */
  readonly leavesWhen?: Promise<unknown>;
  /** The number of complete answers after which the client leaves. */
  readonly answers: number;
  /**
   * Whether the client also waits for the end of the connection, because a connection that was refused for its bytes must not be read
   * further.
   */
  readonly untilClosed?: boolean;
  /** Replaces the number of answers: whether these bytes are all that the client waits for. */
  readonly isOver?: (bytes: Buffer) => boolean;
  /** If false, the client does not read its answer. */
  readonly isReading?: boolean;
  readonly methods?: readonly string[];
  readonly patienceMs?: number;
}

export interface Seen extends Read {
  /** How the server ended the connection; undefined if the client left first. */
  readonly ended: 'fin' | 'reset' | undefined;
  /** Whether the client waited until its deadline. */
  readonly isLate: boolean;
  readonly bytes: Buffer;
}

export async function rawCall(
  url: string,
  { pieces, leaves, leavesWhen, answers, untilClosed, isOver, isReading = true, methods, patienceMs = PATIENCE_MS }: RawRequest,
): Promise<Seen> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
  const chunks: Buffer[] = [];
  let [bytes, wholeAt] = [0, 0];
  let ended: Seen['ended'];
  let isLate = false;
  const over = Promise.withResolvers<void>();
  const read = (): Read => readAnswers(Buffer.concat(chunks), methods);
  if (isReading)
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (isOver) {
        if (isOver(Buffer.concat(chunks))) over.resolve();
        return;
      }
      // A long answer is parsed only when it may be complete, because each parse reads it from the beginning.
      if (untilClosed || (bytes < wholeAt && !chunk.subarray(-5).equals(LAST_CHUNK))) return;
      const seen = read();
      if (seen.fault !== undefined || seen.answers.filter(({ isWhole }) => isWhole).length >= answers) over.resolve();
      wholeAt = seen.wholeAt;
    });
  socket.on('end', () => {
    ended ??= 'fin';
    over.resolve();
  });
  socket.on('error', () => {
    ended ??= 'reset';
    over.resolve();
  });
  socket.on('close', () => over.resolve());
  const deadline = setTimeout(() => {
    isLate = true;
    over.resolve();
  }, patienceMs);
  await Promise.race([once(socket, 'connect').catch(() => undefined), over.promise]);
  await send(socket, pieces);
  await leavesWhen;
  await leave(socket, leaves);
  if (leaves === 'reset') over.resolve();
  await over.promise;
  clearTimeout(deadline);
  socket.destroy();
  return { ...read(), ended, isLate, bytes: Buffer.concat(chunks) };
}

const LAST_CHUNK = Buffer.from('0\r\n\r\n');

async function send(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const [i, piece] of pieces.entries()) {
    if (socket.destroyed) return;
    // Each piece is a separate packet, if possible.
    if (i > 0) await immediate();
    socket.write(piece);
  }
}

async function leave(socket: Socket, leaves: RawRequest['leaves']): Promise<void> {
  if (leaves === 'end') socket.end();
  if (leaves === 'reset') {
    await immediate();
    socket.resetAndDestroy();
  }
}
