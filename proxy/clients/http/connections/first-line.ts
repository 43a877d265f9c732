// Reads the first line of a connection before Node's parser, because the parser reads requests of other protocols as HTTP requests.
import type { Socket } from 'node:net';
import { unshiftInParts } from '../../../base/process/node-internals.ts';

const LF = 10;
const CR = 13;

/** Matches a request line of another protocol, such as RTSP/1.0, which has the grammar and the methods of HTTP. */
const OTHER_PROTOCOL = / (?!HTTP\/)[A-Za-z][A-Za-z0-9+.-]*\/\d+(?:\.\d+)?\r?$/;

export const isOtherProtocol = (line: string): boolean => OTHER_PROTOCOL.test(line);

export interface FirstLineOptions {
  /** The longest line. A longer one is left to the parser, which refuses it. */
  readonly maxBytes: number;
  /** Called once with the line, or with the first `maxBytes` of it. All bytes can be read again from the socket. */
  readonly read: (line: string) => void;
}

/** @returns a function that stops reading, for a connection that is refused */
export function readFirstLine(socket: Socket, { maxBytes, read }: FirstLineOptions): () => void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  /** The start of the line. Empty lines before it are skipped, as in the parser. */
  let start = -1;
  const onReadable = (): void => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      chunks.push(chunk);
      let from = 0;
      if (start === -1) {
        while (from < chunk.length && (chunk[from] === LF || chunk[from] === CR)) from++;
        if (from < chunk.length) start = bytes + from;
      }
      bytes += chunk.length;
      if ((start === -1 || chunk.indexOf(LF, from) === -1) && bytes <= maxBytes) continue;
      const all = chunks.length === 1 ? chunk : Buffer.concat(chunks);
      const end = start === -1 ? -1 : all.indexOf(LF, start);
      stop();
      unshiftInParts(socket, all);
      read(all.toString('latin1', Math.max(start, 0), end === -1 ? all.length : end));
      return;
    }
  };
  const stop = (): void => void socket.off('readable', onReadable);
  socket.on('readable', onReadable);
  return stop;
}
