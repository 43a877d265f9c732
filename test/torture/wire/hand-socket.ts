// A websocket that an attack answers by hand: the upgrade is accepted, and the first frame of the gateway gets these frames.
import { createHash } from 'node:crypto';
import type { HandAnswer } from './exchanges.ts';

/** @param bytes of the frames, heads included; `ends` closes the connection behind them without a close frame */
export const handSocket =
  (bytes: Buffer, { ends }: { readonly ends: boolean }): HandAnswer =>
  (_writer, gateway, request) => {
    const key = /^sec-websocket-key: *(\S+)/im.exec(request.toString('latin1'))?.[1] ?? '';
    const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    gateway.write(
      `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\n\r\n`,
    );
    gateway.once('data', () => {
      if (ends) gateway.end(bytes);
      else gateway.write(bytes);
    });
  };
