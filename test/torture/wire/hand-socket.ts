// A websocket that an attack answers itself: the upgrade is accepted, and the first frame of the gateway gets these frames as the answer.
import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import type { HandAnswer } from './exchanges.ts';

export interface HandSocketOptions {
  /** Whether the connection is closed after the frames, without a close frame. */
  readonly ends: boolean;
  /** Writes further bytes. */
  readonly more?: (gateway: Socket) => void;
}

/** @param bytes the frames, including their heads */
export const handSocket =
  (bytes: Buffer, { ends, more }: HandSocketOptions): HandAnswer =>
  (_writer, gateway, request) => {
    const key = /^sec-websocket-key: *(\S+)/im.exec(request.toString('latin1'))?.[1] ?? '';
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    gateway.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    gateway.once('data', () => {
      if (ends) gateway.end(bytes);
      else gateway.write(bytes);
      more?.(gateway);
    });
  };
