// A native client on a websocket. It sends one turn and reads its frames to the end, or drops the connection before.
import { WebSocket } from 'ws';
import { isObject, type JsonObject } from '../../../proxy/turn/json/json.ts';
import { NATIVE_SOCKET } from '../../support/native-frames.ts';

export interface SocketAnswer {
  readonly frames: readonly JsonObject[];
  /** Whether the last frame ends the turn. */
  readonly isWhole: boolean;
  /** The reason if the reply is not complete. */
  readonly broken: string | undefined;
}

export interface SocketOrder {
  readonly secret: string;
  readonly session: string;
  readonly frame: JsonObject;
  /** The number of frames after which it drops the connection without a close frame. */
  readonly dropAfter?: number;
  /** Aborts the turn at the client's deadline. */
  readonly signal: AbortSignal;
}

const TERMINALS: ReadonlySet<unknown> = new Set(['response.completed', 'response.failed', 'response.incomplete', 'error']);

export function turnOnSocket(url: string, { secret, session, frame, dropAfter, signal }: SocketOrder): Promise<SocketAnswer> {
  return new Promise((resolve) => {
    const frames: JsonObject[] = [];
    const headers = { authorization: `Bearer ${secret}`, 'x-agent-window-id': session };
    const socket = new WebSocket(url.replace(/^http/, 'ws') + NATIVE_SOCKET, { headers, perMessageDeflate: false });
    const abort = (): void => over(false, 'the deadline');
    const over = (isWhole: boolean, broken?: string): void => {
      signal.removeEventListener('abort', abort);
      resolve({ frames, isWhole, broken });
      if (isWhole) socket.close();
      else socket.terminate();
    };
    signal.addEventListener('abort', abort);
    socket.on('open', () => socket.send(JSON.stringify(frame)));
    socket.on('message', (data: Buffer) => {
      const json: unknown = JSON.parse(data.toString());
      if (!isObject(json as JsonObject)) return;
      frames.push(json as JsonObject);
      if (TERMINALS.has((json as JsonObject).type)) over(true);
      else if (frames.length === dropAfter) over(false, 'dropped');
    });
    socket.on('unexpected-response', (_request, { statusCode }) => over(false, `the upgrade was refused with ${statusCode}`));
    socket.on('error', (error: NodeJS.ErrnoException) => over(false, error.code ?? error.message));
    socket.on('close', (code, reason) => over(false, `close ${code} ${reason}`));
  });
}
