// A client that speaks bytes: sends them whole or in pieces, leaves in one of several ways, and keeps all that came until its deadline.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { PATIENCE_MS } from '../stage/settings.ts';
import { type Read, readAnswers } from './answers.ts';

export interface RawRequest {
  /** Each is written by itself. */
  readonly pieces: readonly Buffer[];
  /** What the client does after the last piece: it waits, ends its side, resets the connection, or says no more than it did. */
  readonly then: 'wait' | 'end' | 'reset';
  /** How many whole answers it waits for; past them it leaves. */
  readonly answers: number;
  /** Waits for the end of the connection too: what was refused for its bytes must not be read on. */
  readonly untilClosed?: boolean;
  readonly methods?: readonly string[];
  readonly patienceMs?: number;
}

export interface Seen extends Read {
  /** How the server ended the connection; undefined where the client left first. */
  readonly ended: 'fin' | 'reset' | undefined;
  /** The client waited until its deadline. */
  readonly isLate: boolean;
  readonly bytes: Buffer;
}

export async function rawCall(url: string, { pieces, then, answers, untilClosed, methods, patienceMs = PATIENCE_MS }: RawRequest): Promise<Seen> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true, noDelay: true });
  const chunks: Buffer[] = [];
  let ended: Seen['ended'];
  let isLate = false;
  const over = Promise.withResolvers<void>();
  const read = (): Read => readAnswers(Buffer.concat(chunks), methods);
  socket.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    if (untilClosed) return;
    const { answers: all, fault } = read();
    if (fault !== undefined || all.filter(({ isWhole }) => isWhole).length >= answers) over.resolve();
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
  await send(socket, pieces, then);
  if (then === 'reset') over.resolve();
  await over.promise;
  clearTimeout(deadline);
  socket.destroy();
  return { ...read(), ended, isLate, bytes: Buffer.concat(chunks) };
}

async function send(socket: Socket, pieces: readonly Buffer[], then: RawRequest['then']): Promise<void> {
  for (const [i, piece] of pieces.entries()) {
    if (socket.destroyed) return;
    // A piece is a packet of its own as far as that can be had.
    if (i > 0) await immediate();
    socket.write(piece);
  }
  if (then === 'end') socket.end();
  if (then === 'reset') {
    await immediate();
    socket.resetAndDestroy();
  }
}
